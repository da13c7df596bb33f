"""Room `job`: inputs that lie on this machine: listed, named and pinned by their content."""

from __future__ import annotations

import os
import stat

from muniment.canonical import Json
from muniment.disk.errors import named
from muniment.disk.root import Root
from muniment.disk.tree import measure
from muniment.disk.write import is_scratch
from muniment.evidence import Kind
from muniment.job.backend import Case, FlowFacts
from muniment.job.bindings import Offer
from muniment.job.cwl_flow import read_flow, tool_in
from muniment.job.errors import BadBinding
from muniment.job.model import PortType
from muniment.message import say
from muniment.path import RelPath, printable


class LocalFiles:
    """The local side of `cwl` and `wes`, whose workflows and inputs are files of this machine.

    A file's id is the digest of its bytes, a folder's the digest of its evidence table, so that a
    plan pins what it was confirmed with.
    """

    __slots__ = ()

    def inspect(self, flow: str) -> FlowFacts:
        """Read a CWL file, packed into one document: it is what runs, or is sent."""
        return read_flow(flow)

    def tool(self, case: Case, name: str, version: int) -> Json | None:
        """The process of the workflow that declares this software."""
        return tool_in(case.document, name, version)

    def offers(self, input_path: str) -> list[Offer]:
        """What lies directly in a folder (or the one file); links, hidden and unfinished names
        are passed over."""
        if not input_path:
            return []
        if not os.path.isdir(input_path):
            return [self.offer(input_path)]
        found: list[Offer] = []
        with Root.open(input_path) as root:
            for name in root.names(RelPath()):
                if name.startswith(".") or is_scratch(name) or not _utf8(name):
                    continue
                mode = root.stat(RelPath((name,))).st_mode
                if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
                    kind = PortType.DIR if stat.S_ISDIR(mode) else PortType.FILE
                    found.append(Offer("", os.path.join(root.path, name), kind))
        return found

    def offer(self, reference: str) -> Offer:
        """A file or folder by its path; links in it are the person's own and are followed once."""
        if not _utf8(reference):
            raise BadBinding(port=printable(reference), why=say("its name is not UTF-8"))
        with named(reference):
            real = os.path.realpath(reference, strict=True)
            mode = os.stat(real).st_mode
        return Offer("", real, PortType.DIR if stat.S_ISDIR(mode) else PortType.FILE)

    def pin(self, offer: Offer) -> str:
        """Read the whole input and answer `sha256:…`."""
        folder, _, name = offer.filename.rstrip("/").rpartition("/")
        with Root.open(folder or "/") as root:
            measured = measure(root, RelPath((name,)))
        if measured.kind is Kind.FILE:
            (row,) = measured.table.rows
            return str(row.digest)
        return str(measured.table.digest)


def _utf8(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
