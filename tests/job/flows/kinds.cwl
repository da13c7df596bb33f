cwlVersion: v1.2
class: CommandLineTool
baseCommand: [sh, -c, 'cat "$@" | sort > merged.txt; mkdir tree; cp "$0"/* tree/', ]
inputs:
  folder: {type: Directory, inputBinding: {position: 1}}
  parts: {type: "File[]", inputBinding: {position: 2}}
  notes: {type: "File?"}
  threads: {type: int, default: 2}
outputs:
  merged: {type: File, outputBinding: {glob: merged.txt}}
  tree: {type: Directory, outputBinding: {glob: tree}}
