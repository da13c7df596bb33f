cwlVersion: v1.2
class: Workflow
label: count reads
inputs:
  reads: {type: File, format: "edam:format_1930"}
outputs:
  report: {type: File, outputSource: describe/report}
steps:
  count:
    run: count-tool.cwl
    in: {reads: reads}
    out: [count]
  describe:
    run: describe-tool.cwl
    in: {count: count/count}
    out: [report]
$namespaces: {edam: "http://edamontology.org/"}
