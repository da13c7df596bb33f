cwlVersion: v1.2
class: CommandLineTool
baseCommand: [sh, -c, 'echo the index is broken >&2; exit 3']
inputs:
  reads: File
outputs: []
