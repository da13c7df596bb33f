"""Room `job`: which tool an image's name belongs to: images have lower-case names, tools do not.

The first spelling whose image was fetched keeps the name, for all jobs of one folder; another
spelling is another tool, and would silently run the first one's image (spec 2, containers).
"""

from __future__ import annotations

from muniment.canonical import NotJson, canonical, read_json
from muniment.digest import sha256
from muniment.disk.errors import AlreadyThere, NotThere
from muniment.disk.root import Root
from muniment.disk.write import write_verified
from muniment.job.errors import RegistryRefused, ToolCollision
from muniment.job.image_name import image_tag_of
from muniment.job.model import Tool
from muniment.path import RelPath, printable

_FOLDER = RelPath((".tools",))
_LIMIT = 1 << 16


def require_own_name(jobs: Root, tool: Tool) -> None:
    """`ToolCollision` when another tool has the image's name already."""
    try:
        known = read_json(jobs.read(_place(tool), _LIMIT))["tool"]
    except NotThere:
        return
    except (NotJson, KeyError, TypeError) as error:
        raise RegistryRefused(where=_place(tool).posix, path="tool", wanted="a name", found="-") from error
    if known != tool.name:
        raise ToolCollision(
            tool=printable(tool.name),
            other=printable(str(known)),
            image=image_tag_of(tool.name, tool.version) or "-",
        )


def keep_name(jobs: Root, tool: Tool) -> None:
    """The image's name belongs to this tool from now on, unless another one was faster."""
    jobs.make_folders(_FOLDER)
    try:
        write_verified(jobs, _place(tool), canonical({"tool": tool.name}) + b"\n")
    except AlreadyThere:
        require_own_name(jobs, tool)


def _place(tool: Tool) -> RelPath:
    return _FOLDER / f"{sha256(tool.name.lower().encode()).hex}.json"
