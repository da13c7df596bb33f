cwlVersion: v1.2
class: CommandLineTool
baseCommand: ["true"]
inputs:
  reads: File
  threads: int
outputs: []
