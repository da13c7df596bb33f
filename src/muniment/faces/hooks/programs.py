"""Faces, hooks: what programs of a shell do to the files that they are given, by their arguments.  Pure."""

from __future__ import annotations

import os
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

WRITE, REMOVE, LINK = "write", "remove", "link"
"""What happens to a path: its content changes, it goes away, another name is made for it or of it."""

ANY = "\ue000"
"""Stands for a `*` that a shell expands."""

_ASSIGNED = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\+?=(.*)", re.DOTALL)

_WITH_VALUE = {
    "sudo": {"-u", "-g", "-C", "-h", "-p", "-U", "-D"},
    "env": {"-u", "-C", "-S"},
    "nice": {"-n"},
    "timeout": {"-s", "-k"},
    "xargs": {"-I", "-n", "-P", "-L", "-d", "-a", "-E", "-s"},
    "stdbuf": {"-i", "-o", "-e"},
    "ionice": {"-c", "-n"},
    "nohup": set(),
    "command": set(),
    "builtin": set(),
    "exec": {"-a"},
    "setsid": set(),
    "doas": {"-u"},
    "busybox": set(),
}
"""Programs that run what stands behind them, with their options that take a value."""


def unwrapped(words: list[str]) -> list[str]:
    """The command behind the programs that only run it."""
    while words and os.path.basename(words[0]) in _WITH_VALUE:
        name = os.path.basename(words[0])
        values, words = _WITH_VALUE[name], words[1:]
        while words and (words[0].startswith("-") or _ASSIGNED.fullmatch(words[0])):
            words = words[2:] if words[0] in values else words[1:]
        if name == "timeout":
            words = words[1:]
    return words


def script(given: list[str]) -> str | None:
    """The text behind `-c` of a shell."""
    for index, each in enumerate(given):
        if each.startswith("-") and not each.startswith("--") and "c" in each:
            return given[index + 1] if index + 1 < len(given) else None
        if not each.startswith("-"):
            return None
    return None


def plain_words(given: list[str], values: Any = ()) -> list[str]:
    """The arguments that are no options and no values of them; behind `--` all are."""
    found: list[str] = []
    at = 0
    while at < len(given):
        each = given[at]
        if each == "--":
            return found + given[at + 1 :]
        if each.startswith("-") and each != "-":
            at += 2 if each in values else 1
        else:
            found.append(each)
            at += 1
    return found


def _option(given: list[str], short: str, long: str) -> str | None:
    """The value of an option, in whichever way it is spelled."""
    for index, each in enumerate(given):
        if each in (short, long):
            return given[index + 1] if index + 1 < len(given) else None
        if each.startswith(f"{long}="):
            return each.partition("=")[2]
        if short and each.startswith(short) and not each.startswith("--") and len(each) > len(short) == 2:
            return each[2:]
    return None


def _onto(given: list[str], values: Any = ()) -> tuple[list[str], str | None]:
    """Sources and target of `cp`, `mv`, `ln` and their like."""
    target = _option(given, "-t", "--target-directory")
    words = plain_words(given, {"-t", "--target-directory", "-S", "--suffix", *values})
    if target is not None:
        return words, target
    return (words[:-1], words[-1]) if len(words) > 1 else (words, None)


def _into(sources: list[str], target: str) -> list[str]:
    """The target, and what it would be called in it if it is a folder."""
    names = [os.path.basename(source.rstrip("/")) for source in sources]
    return [target, *(os.path.join(target, name) for name in names if name not in ("", ".", ".."))]


def _cp(given: list[str]) -> list[tuple[str, str]]:
    sources, target = _onto(given, {"-m", "-o", "-g"})
    return [(WRITE, path) for path in _into(sources, target)] if target is not None else []


def _mv(given: list[str]) -> list[tuple[str, str]]:
    sources, target = _onto(given)
    gone = [(REMOVE, source) for source in sources]
    return gone + ([(WRITE, path) for path in _into(sources, target)] if target is not None else [])


def _ln(given: list[str]) -> list[tuple[str, str]]:
    sources, target = _onto(given)
    soft = any(
        each == "--symbolic" or (each.startswith("-") and not each.startswith("--") and "s" in each)
        for each in given
    )
    if target is None:
        target = "."
    found = [(LINK, path) for path in _into(sources, target) if path != "."]
    # Through a second name of the same file it could be changed from outside.
    return found if soft else found + [(LINK, source) for source in sources]


def _rm(given: list[str]) -> list[tuple[str, str]]:
    return [(REMOVE, path) for path in plain_words(given, {"-n", "-s"})]


def _all(given: list[str]) -> list[tuple[str, str]]:
    values = {"-s", "--size", "-r", "--reference", "-d", "--date", "-t", "-m", "--mode"}
    return [(WRITE, path) for path in plain_words(given, values)]


def _tee(given: list[str]) -> list[tuple[str, str]]:
    return [(WRITE, path) for path in plain_words(given)]


def _sed(given: list[str]) -> list[tuple[str, str]]:
    short = [each for each in given if each.startswith("-") and not each.startswith("--")]
    inside = any(each.startswith("--in-place") for each in given)
    inside = inside or any("i" in each.partition("e")[0].partition("f")[0] for each in short)
    if not inside:
        return []
    words = plain_words(given, {"-e", "-f", "-l", "--expression", "--file"})
    told = any(each in ("-e", "-f") or each.startswith(("--expression", "--file")) for each in given)
    told = told or any(each.endswith(("e", "f")) and len(each) > 2 for each in short)
    if any(each.endswith(("e", "f")) and len(each) > 2 for each in short):
        words = words[1:]
    return [(WRITE, path) for path in (words if told else words[1:])]


def _perl(given: list[str]) -> list[tuple[str, str]]:
    short = [each for each in given if each.startswith("-") and not each.startswith("--")]
    if not any("i" in each for each in short):
        return []
    return [(WRITE, path) for path in plain_words(given)[1:]]


def _dd(given: list[str]) -> list[tuple[str, str]]:
    return [(WRITE, each[3:]) for each in given if each.startswith("of=")]


def _last(given: list[str]) -> list[tuple[str, str]]:
    words = plain_words(given, {"-e", "--rsh", "--exclude", "--include", "-f"})
    return [(WRITE, path) for path in _into(words[:-1], words[-1])] if len(words) > 1 else []


def _find(given: list[str]) -> list[tuple[str, str]]:
    removes = "-delete" in given or ("-exec" in given and "rm" in given)
    places: list[str] = []
    for each in given:
        if each.startswith("-") or each in ("(", "!"):
            break
        places.append(each)
    return [(REMOVE, f"{place}/{ANY}") for place in places] if removes else []


def _tar(given: list[str]) -> list[tuple[str, str]]:
    flags = given[0] if given else ""
    place = _option(given, "-C", "--directory")
    extracts = "x" in flags or "--extract" in given or "--get" in given
    return [(WRITE, place)] if extracts and place is not None else []


def _unzip(given: list[str]) -> list[tuple[str, str]]:
    place = _option(given, "-d", "--d")
    return [(WRITE, place)] if place is not None else []


def _fetched(given: list[str]) -> list[tuple[str, str]]:
    found = [_option(given, "-o", "--output"), _option(given, "-O", "--output-document")]
    return [(WRITE, path) for path in found if path]


def _git(given: list[str]) -> list[tuple[str, str]]:
    words = plain_words(given, {"-C", "-c"})
    if words[:1] == ["rm"]:
        return [(REMOVE, path) for path in words[1:]]
    return _mv(words[1:]) if words[:1] == ["mv"] else []


ACTS: Any = {
    "cp": _cp,
    "install": _cp,
    "mv": _mv,
    "ln": _ln,
    "link": _ln,
    "rm": _rm,
    "rmdir": _rm,
    "unlink": _rm,
    "shred": _rm,
    "touch": _all,
    "truncate": _all,
    "mkdir": _all,
    "tee": _tee,
    "sponge": _tee,
    "sed": _sed,
    "gsed": _sed,
    "perl": _perl,
    "dd": _dd,
    "rsync": _last,
    "scp": _last,
    "find": _find,
    "tar": _tar,
    "unzip": _unzip,
    "curl": _fetched,
    "wget": _fetched,
    "git": _git,
}
"""By the name of a program: what it does with its arguments."""
