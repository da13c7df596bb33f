cwlVersion: v1.2
class: CommandLineTool
baseCommand: [sleep, "600"]
inputs:
  reads: File
outputs: []
