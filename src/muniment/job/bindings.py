"""Room `job`: which file goes to which port, pure: routing, then heuristic, then the default.

Declared routing always wins.  The heuristic binds only what is unambiguous: a port takes a file
when exactly one fits and nobody else took it.  The flow's default comes last.  A required port
that gets nothing ends planning, by its name (spec 2, engines).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from muniment.job.errors import BadBinding, UnboundPort
from muniment.job.model import Binding, BoundBy, DefaultUsed, PortType
from muniment.message import Message, say, say_count
from muniment.path import printable


@dataclass(frozen=True, slots=True)
class Port:
    """A place where a task takes a file or a folder (several when `many`).

    `endings` are the file endings it takes (empty: any); `default` the flow's own file.
    """

    task: str
    name: str
    type: PortType
    required: bool
    default: str = ""
    many: bool = False
    endings: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """The port as people name it: `task.port`, or `port` alone when its task has no name."""
        return f"{self.task}.{self.name}" if self.task else self.name


@dataclass(frozen=True, slots=True)
class Offer:
    """A file or folder that could be bound: the engine's id of it and its name."""

    fileId: str
    filename: str
    type: PortType

    @property
    def base(self) -> str:
        """The last name of it."""
        return self.filename.rstrip("/").rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class Declared:
    """What the person declared, by `task.port` or `port`."""

    routing: Mapping[str, tuple[Offer, ...]]
    force_default: frozenset[str] = frozenset()
    no_default: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Bound:
    """The rows of the plan."""

    bindings: tuple[Binding, ...]
    defaults_used: tuple[DefaultUsed, ...]


def bind(ports: Sequence[Port], offers: Sequence[Offer], declared: Declared) -> Bound:
    """Bind every port, in the flow's order.

    Raises `UnboundPort` for a required port that got nothing and `BadBinding` for a declaration
    that names no port, two ports, or what the port can not take.

    >>> port = Port("main", "reads", PortType.FILE, True)
    >>> row = bind([port], [Offer("1", "/in/a.fastq", PortType.FILE)], Declared({})).bindings[0]
    >>> row.source, row.filename
    (<BoundBy.HEURISTIC: 'heuristic'>, '/in/a.fastq')
    """
    _names(ports, declared)
    taken: dict[Port, tuple[BoundBy, tuple[Offer, ...]]] = {}
    for port in ports:
        routed = _of(port, declared.routing)
        if routed:
            _check_routing(port, routed, declared)
            taken[port] = (BoundBy.ROUTING, routed)
    used = {offer.filename for _, chosen in taken.values() for offer in chosen}
    free = [offer for offer in offers if offer.filename not in used]
    open_ports = [port for port in ports if port not in taken and not _in(port, declared.force_default)]
    for port, offer in _guess(open_ports, free):
        taken[port] = (BoundBy.HEURISTIC, (offer,))
    rows: list[Binding] = []
    defaults: list[DefaultUsed] = []
    for port in ports:
        forced, denied = _in(port, declared.force_default), _in(port, declared.no_default)
        if port not in taken and port.default and not denied:
            taken[port] = (BoundBy.DEFAULT, (Offer("", port.default, port.type),))
            defaults.append(DefaultUsed(port.task, port.name, port.default))
        if port not in taken:
            if port.required:
                raise _unbound(port, free, denied)
            rows.append(_row(port, None, None, forced, denied))
            continue
        source, chosen = taken[port]
        rows.extend(_row(port, source, offer, forced, denied) for offer in chosen)
    return Bound(tuple(rows), tuple(defaults))


def _row(port: Port, source: BoundBy | None, offer: Offer | None, forced: bool, denied: bool) -> Binding:
    return Binding(
        task=port.task,
        port=port.name,
        type=port.type,
        required=port.required,
        source=source,
        fileId=offer.fileId if offer else "",
        filename=offer.filename if offer else "",
        force_default=forced,
        no_default=denied,
    )


def _of(port: Port, table: Mapping[str, tuple[Offer, ...]]) -> tuple[Offer, ...]:
    return table.get(port.key) or table.get(port.name) or ()


def _in(port: Port, names: frozenset[str]) -> bool:
    return port.key in names or port.name in names


def _names(ports: Sequence[Port], declared: Declared) -> None:
    for name in (*declared.routing, *sorted(declared.force_default | declared.no_default)):
        fitting = [port for port in ports if name in (port.key, port.name)]
        exact = [port for port in fitting if port.key == name]
        if not fitting:
            there = tuple(port.key for port in ports) or "-"
            raise _bad(name, say("the flow has no such port; it has {ports}", ports=there))
        if len(fitting) > 1 and len(exact) != 1:
            both = tuple(port.key for port in fitting)
            raise _bad(name, say("several ports have this name: {ports}", ports=both))


def _check_routing(port: Port, offers: tuple[Offer, ...], declared: Declared) -> None:
    if _in(port, declared.force_default):
        raise _bad(port.key, say("it is given a file and told to use its default"))
    if len(offers) > 1 and not port.many:
        raise _bad(port.key, say("it takes one file and was given {count}", count=len(offers)))
    for offer in offers:
        if offer.type is not port.type:
            wanted, found = port.type.value, offer.type.value
            kind = say(
                "it takes a {wanted}, and {name} is a {found}", wanted=wanted, name=offer.base, found=found
            )
            raise _bad(port.key, kind)


def _bad(port: str, why: Message) -> BadBinding:
    return BadBinding(port=printable(port), why=why)


def _guess(ports: Sequence[Port], offers: Sequence[Offer]) -> list[tuple[Port, Offer]]:
    """The unambiguous pairs, the strongest likeness first."""
    found: list[tuple[Port, Offer]] = []
    open_ports, free = list(ports), list(offers)
    for alike in (_same_name, _name_within, _only_ending):
        pairs = _single(open_ports, free, alike)
        found.extend(pairs)
        for port, offer in pairs:
            open_ports.remove(port)
            free.remove(offer)
    for kind in PortType:
        last = [port for port in open_ports if port.type is kind and port.required and not port.default]
        left = [offer for offer in free if offer.type is kind]
        if len(last) == len(left) == 1 and not last[0].endings:
            found.append((last[0], left[0]))
    return found


def _single(
    ports: Sequence[Port], offers: Sequence[Offer], alike: Callable[[Port, Offer], bool]
) -> list[tuple[Port, Offer]]:
    """Pairs in which the port likes one file only, and the file is liked by that port only."""
    likes = {port: [one for one in offers if one.type is port.type and alike(port, one)] for port in ports}
    wanted = [offer for chosen in likes.values() for offer in chosen]
    return [
        (port, chosen[0])
        for port, chosen in likes.items()
        if len(chosen) == 1 and wanted.count(chosen[0]) == 1
    ]


def _words(text: str) -> list[str]:
    return [word for word in re.split(r"[^0-9a-z]+", text.lower()) if word]


def _takes(port: Port, offer: Offer) -> bool:
    return not port.endings or offer.base.lower().endswith(port.endings)


def _same_name(port: Port, offer: Offer) -> bool:
    return _takes(port, offer) and _words(offer.base.partition(".")[0]) == _words(port.name)


def _name_within(port: Port, offer: Offer) -> bool:
    name, words = _words(port.name), _words(offer.base)
    spans = (words[at : at + len(name)] for at in range(len(words) - len(name) + 1))
    return bool(name) and _takes(port, offer) and name in spans


def _only_ending(port: Port, offer: Offer) -> bool:
    return bool(port.endings) and _takes(port, offer)


def _unbound(port: Port, free: Sequence[Offer], denied: bool) -> UnboundPort:
    fitting = [offer for offer in free if offer.type is port.type and _takes(port, offer)]
    if fitting:
        names = tuple(printable(offer.base) for offer in fitting[:5])
        why = say_count(
            "{count} file would fit, and nothing says that it is meant: {names}",
            "{count} files would fit: {names}",
            len(fitting),
            names=names,
        )
    elif denied and port.default:
        why = say("its default is there and was ruled out")
    else:
        why = say("no file fits, and the flow has no default for it")
    return UnboundPort(port=port.name, task=port.task or "-", why=why)
