cwlVersion: v1.2
class: CommandLineTool
hints:
  SoftwareRequirement:
    packages: [{package: Counter, version: ["3"]}]
baseCommand: [sh, -c, 'grep -c "^@" "$0"']
inputs:
  reads: {type: File, inputBinding: {position: 1}}
outputs:
  count: {type: stdout}
stdout: count.txt
