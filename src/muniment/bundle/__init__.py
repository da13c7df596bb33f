"""Floor 2, `bundle`: the snapshot's format: an ordinary tar.gz that is also a list of extents.

Bytes in, bytes out: nothing here knows a vault, a workspace or a person.  `docs/format.md` says
what the bytes mean; the modules follow its chapters: `tar`, `deflate`, `cuts`, `index`,
`manifest`; `pack` and `join` write, `gunzip`, `members`, `extent`, `verify` and `extract` read.
"""
