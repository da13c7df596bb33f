"""Faces, command line: one module a command on a frame that loads only what is called."""
