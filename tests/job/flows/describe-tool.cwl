cwlVersion: v1.2
class: CommandLineTool
baseCommand: [sh, -c, 'printf "reads: "; cat "$0"']
inputs:
  count: {type: File, inputBinding: {position: 1}}
outputs:
  report: {type: stdout}
stdout: report.txt
