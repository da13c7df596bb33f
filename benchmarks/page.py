"""Writes `docs/performance.md` from what `benchmarks.performance` measured.

No number of the page is written by hand; what is said about a goal follows from whether it was reached.
"""

from __future__ import annotations

from typing import Any

GOALS = {"first": 0.40, "second": 0.30, "unchanged": 0.25, "restore": 0.35, "verify": 0.55}
MEMORY_GOAL = 1.2
NAMES = {
    "first": "first",
    "second": "a day later",
    "unchanged": "unchanged",
    "restore": "restore, every file and id checked",
    "verify": "verify, every file and id",
}
PEERS = {
    "restic": "restic, which encrypts (about 0.05 s of this tree) and checks the ids of its pieces",
    "borg": "borg, unencrypted, lz4",
    "zstd": "`tar | zstd -3 -T0`, and `sha256sum` of every file",
    "pigz": "`tar | pigz`, and `sha256sum` of every file",
}
FLOORS = {
    "start": "starting Python with what is needed, and nothing else",
    "walk": "every entry looked at",
    "read": "every file read and hashed once",
    "deflate": "every file read, hashed once and deflated, in stretches of 1 MiB",
    "pieces": "the same in pieces as the format has them, each hashed for its id as well",
    "inflate": "every extent inflated",
    "hash": "every extent inflated, every byte hashed twice",
    "create": "every file read from a tmpfs and made there again",
}
FLOOR_OF = {
    "first": (("deflate",), "Reading, hashing and deflating alone"),
    "second": (("walk",), "Starting and looking at every entry alone"),
    "unchanged": (("walk",), "Starting and looking at every entry alone"),
    "restore": (("hash", "create"), "Inflating and hashing, and making the files, alone"),
    "verify": (("hash",), "Inflating and hashing alone"),
}


def page(found: dict[str, Any]) -> str:
    """The whole page."""
    parts = (
        _opening(found),
        *_beside(found["pairs"]),
        _goals(found),
        _floors(found),
        _command(found),
        _slopes(found),
        _again(),
    )
    return "\n\n".join(part for part in parts if part) + "\n"


def _opening(found: dict[str, Any]) -> str:
    machine, tree = found["machine"], found["tree"]
    versions = "; ".join(found["versions"].values()) or "no other program"
    return f"""# How fast it is

`make bench` measures this and writes this page; no number here is written by hand, and nothing of it is
a test.

Measured {machine["date"]} on {machine["cores"]} cores of {machine["processor"]}, {machine["memory"]} GiB,
{machine["system"]}, CPython {machine["python"]}, everything on a tmpfs where nothing else is said.
The machine's load was {machine["load"]:.1f} at the beginning and {machine["load_at_the_end"]:.1f} at the end:
what others do at the same time falls on both sides of a pair, but not alike. The tree is an agent's data
folder made from a seed: {tree["files"]:,} files, {tree["megabytes"]:,.0f} MB. Beside it: {versions}.

Two programs take turns, so that both meet the machine as it is at that time. A ratio is ours to theirs: less
than one is better; in brackets are the least and the most of the pairs. CPU is the sum over all processes,
user and system. Memory is that of the largest process or what all hold at one time, whichever is more. Ours
is the format with a store of its own (`benchmarks/ours.py`): pieces in a pack, synced, without the vault's
catalogue and without the command line."""


def _beside(pairs: list[dict[str, Any]]) -> list[str]:
    parts = []
    for peer in dict.fromkeys(one["peer"] for one in pairs):
        ones = [one for one in pairs if one["peer"] == peer]
        lines = [
            f"## Beside {PEERS[peer]}",
            "",
            f"Medians of {ones[0]['pairs']} interleaved pairs." if ones[0]["pairs"] > 1 else "One pair.",
            "",
            "| phase | wall | CPU | peak memory | ours: s, CPU s, MB | theirs: s, CPU s, MB |",
            "|---|---|---|---|---|---|",
        ]
        for one in ones:
            cells = [_ratio(one["measures"][name]) for name in ("wall", "cpu", "memory")]
            for side in ("ours", "theirs"):
                wall, cpu, memory = (one["measures"][name][side] for name in ("wall", "cpu", "memory"))
                cells.append(f"{wall:.2f}, {cpu:.2f}, {memory:.0f}")
            lines.append(f"| {NAMES[one['phase']]} | {' | '.join(cells)} |")
        sent = [one for one in ones if len(one["added"]) == 2 and peer in ("restic", "borg")]
        if sent:
            lines += ["", "| bytes added, MB | ours | theirs | ratio |", "|---|---|---|---|"]
            for one in sent:
                ours, theirs = one["added"]
                lines.append(f"| {NAMES[one['phase']]} | {ours:.1f} | {theirs:.1f} | {ours / theirs:.2f} |")
        parts.append("\n".join(lines))
    return parts


def _ratio(measure: dict[str, float]) -> str:
    return f"{measure['ratio']:.2f} ({measure['least']:.2f} to {measure['most']:.2f})"


def _goals(found: dict[str, Any]) -> str:
    ones = {one["phase"]: one["measures"] for one in found["pairs"] if one["peer"] == "restic"}
    if not ones:
        return ""
    lines = [
        "## The goals",
        "",
        "| phase | goal for wall, beside restic | found | | goal for memory | found | |",
        "|---|---|---|---|---|---|---|",
    ]
    missed = []
    for phase, measures in ones.items():
        wall, memory = measures["wall"]["ratio"], measures["memory"]["ratio"]
        cells = [NAMES[phase], f"{GOALS[phase]:.2f}", f"{wall:.2f}", _reached(wall <= GOALS[phase])]
        cells += [f"{MEMORY_GOAL:.1f}", f"{memory:.2f}", _reached(memory <= MEMORY_GOAL)]
        lines.append(f"| {' | '.join(cells)} |")
        if wall > GOALS[phase]:
            missed.append(_floor(found, phase, measures))
    return "\n".join(
        [*lines, *(f"\n- {text}" if not number else f"- {text}" for number, text in enumerate(missed))]
    )


def _reached(yes: bool) -> str:
    return "reached" if yes else "**missed**"


def _floor(found: dict[str, Any], phase: str, measures: dict[str, dict[str, float]]) -> str:
    names, what = FLOOR_OF[phase]
    wall, cpu = (sum(found["floors"][name][measure] for name in names) for measure in ("wall", "cpu"))
    goal = GOALS[phase] * measures["wall"]["theirs"]
    beyond = ", which is more than the goal already" if wall > goal else ""
    rest = measures["cpu"]["ours"] - cpu
    more = f"{rest:.2f} CPU seconds are" if rest >= 0.01 else "less than can be told is"
    return (
        f"**{NAMES[phase]}**: the goal is {goal:.2f} s here. {what} takes {wall:.2f} s on both cores and"
        f" {cpu:.2f} CPU seconds{beyond}. Of our {measures['wall']['ours']:.2f} s and"
        f" {measures['cpu']['ours']:.2f} CPU seconds, {more} the rest: names, records,"
        " rows, the manifest and the index."
    )


def _floors(found: dict[str, Any]) -> str:
    lines = [
        "## Floors",
        "",
        "What nobody can leave out, each part alone, by two processes that do nothing else"
        " (`benchmarks/floors.py`), in the same run.",
        "",
        "| what | wall, s | CPU, s |",
        "|---|---|---|",
    ]
    for name, floor in found["floors"].items():
        lines.append(f"| {FLOORS[name]} | {floor['wall']:.2f} | {floor['cpu']:.2f} |")
    return "\n".join(lines)


def _command(found: dict[str, Any]) -> str:
    if not found.get("command"):
        return ""
    (table,) = _beside(found["command"])
    return "\n".join(
        [
            "## The command itself beside restic, on a disk",
            "",
            "The same tree on the disk of the machine, and `muniment backup plan` and `create --plan`,"
            " `verify` and `restore --target` as a person calls them, each after a start that tells the id:"
            " rules, ledger, cache, and a vault in a folder. A thirtieth of what is unchanged is read anew in"
            " each run.",
            *table.splitlines()[1:],
        ]
    )


def _slopes(found: dict[str, Any]) -> str:
    parts = [
        "## Slopes",
        "",
        "The whole program from its start to its end, everything on the disk of the machine, the vault in a"
        " folder, one run each: seconds of wall and of CPU, and MB of peak memory.",
    ]
    for row, what in (("files", "Notes of 1.5 KB"), ("bytes", "Logs of 5 MB")):
        ones = found["slopes"][row]
        if not ones:
            continue
        acts = list(ones[0]["acts"])
        parts += [
            "",
            f"{what}:",
            "",
            f"| files | MB | {' | '.join(acts)} |",
            f"|---|---|{'---|' * len(acts)}",
        ]
        for one in ones:
            cells = [f"{wall:.1f}, {cpu:.1f}, {memory:.0f}" for wall, cpu, memory in one["acts"].values()]
            parts.append(f"| {one['files']:,} | {one['megabytes']:,.0f} | {' | '.join(cells)} |")
        parts += ["", _growth(ones, row)]
    return "\n".join(parts)


def _growth(ones: list[dict[str, Any]], row: str) -> str:
    least, most = ones[0], ones[-1]
    key, unit = ("files", "file") if row == "files" else ("megabytes", "MB")
    grown = most[key] - least[key]
    if not grown:
        return ""
    texts = []
    for act, (_, cpu, memory) in most["acts"].items():
        _, before, held = least["acts"][act]
        scale, small, large = (1e6, "µs", "bytes") if row == "files" else (1e3, "ms", "KB")
        room = (memory - held) * (1e6 if row == "files" else 1e3) / grown
        more = round((cpu - before) * scale / grown)
        texts.append(f"{act} {more} {small} of CPU and {round(room)} {large} of memory")
    return f"From the least to the most, each further {unit} costs: {'; '.join(texts)}."


def _again() -> str:
    return """## Measure again

`make bench` needs `restic` and `borg` for the pairs (`RESTIC` and `BORG` name the programs; who is not there
is left out), a tmpfs and a disk: `make bench BENCH_WORK=/dev/shm/bench BENCH_DISK=/var/tmp/bench`.
`BENCH_ARGS` takes what `python -m benchmarks.performance --help` tells, such as `--bytes 10000` for the tree
of 10 GB, for which the disk must have room three times."""
