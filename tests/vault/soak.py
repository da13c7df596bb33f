"""A served vault against a model of it: what many tenants were told must be what is there."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from tests.vault.content import keep, numbered, restored
from tests.vault.servers import Served
from tests.vault.table_client import TableClient

from muniment.vault.remote import RemoteVault

SLOTS = 5
SESSIONS = 2


@dataclass
class Kept:
    """A snapshot as the model has it."""

    label: str
    size: int
    digest: str | None
    numbers: tuple[int, ...] = ()


@dataclass
class Upload:
    """An upload by offsets as the model has it."""

    data: bytes
    taken: int
    label: str
    replaces: str | None


@dataclass
class Model:
    """One tenant: what it has by the specification, and a caller that acts on both."""

    client: TableClient
    vault: RemoteVault
    chance: random.Random
    kept: dict[str, Kept] = field(default_factory=dict)
    uploads: dict[str, Upload] = field(default_factory=dict)
    acts: int = 0

    @property
    def slots(self) -> int:
        """Slots that are taken."""
        return len(self.kept) + sum(one.replaces is None for one in self.uploads.values())

    def act(self) -> None:
        """One act, chosen by chance, on both."""
        acts: list[Callable[[], None]] = [
            self.create, self.create, self.replace, self.reserve, self.chunk, self.chunk, self.chunk,
            self.delete, self.abort, self.get, self.compare, self.unknown, self.pieces,
        ]  # fmt: skip
        self.chance.choice(acts)()
        self.acts += 1

    def data(self) -> bytes:
        """Some bytes, a few of them often the same."""
        if self.chance.random() < 0.2:
            return b"the same again"
        return self.chance.randbytes(self.chance.choice([1, 1000, 70_000, 300_000]))

    def create(self, replace: str | None = None) -> None:
        data, label = self.data(), self.chance.choice(["", "daily", "每日"])
        answer = self.client.create(data, label, replace=replace)
        if replace is not None and replace not in self.kept:
            assert answer.status == 404, answer
        elif replace is None and self.slots >= SLOTS:
            assert (answer.status, answer.json["error"]) == (409, "quota_exceeded"), answer
            assert len(answer.json["current"]) == len(self.kept) + len(self.uploads)
        else:
            assert answer.status == 201, answer
            self.kept.pop(replace or "", None)
            digest = hashlib.sha256(data).hexdigest()
            assert answer.json["sha256"] == digest
            self.kept[answer.json["backup_id"]] = Kept(label, len(data), digest)
            assert answer.json["remaining_slots"] == SLOTS - self.slots

    def replace(self) -> None:
        self.create(self.some(self.kept) or "bk_20200101_000000_aaaa")

    def reserve(self) -> None:
        data = self.data()
        replaces = self.some(self.kept) if self.chance.random() < 0.3 else None
        more = {} if replaces is None else {"replace": replaces}
        answer = self.client.reserve(len(data), manifest={"user_label": "r"}, **more)
        if len(self.uploads) >= SESSIONS:
            assert (answer.status, answer.json["error"]) == (409, "sessions_exceeded"), answer
        elif replaces is None and self.slots >= SLOTS:
            assert (answer.status, answer.json["error"]) == (409, "quota_exceeded"), answer
        else:
            assert answer.status == 201, answer
            self.uploads[answer.json["upload_id"]] = Upload(data, 0, "r", replaces)

    def chunk(self) -> None:
        name = self.some(self.uploads)
        if name is None:
            return
        upload = self.uploads[name]
        start = upload.taken if self.chance.random() < 0.8 else self.chance.randrange(len(upload.data))
        end = self.chance.randint(start + 1, len(upload.data))
        answer = self.client.chunk(name, start, upload.data[start:end], len(upload.data))
        if start != upload.taken:
            assert (answer.status, answer.json["offset"]) == (409, upload.taken), answer
        elif end < len(upload.data):
            assert (answer.status, answer.json["offset"]) == (202, end), answer
            upload.taken = end
        elif upload.replaces is not None and upload.replaces not in self.kept:
            assert answer.status == 404, answer
            assert self.client.abort(name).status == 204
            del self.uploads[name]
        else:
            assert answer.status == 201, answer
            del self.uploads[name]
            self.kept.pop(upload.replaces or "", None)
            digest = hashlib.sha256(upload.data).hexdigest()
            assert answer.json["sha256"] == digest
            self.kept[answer.json["backup_id"]] = Kept(upload.label, len(upload.data), digest)

    def pieces(self) -> None:
        if self.slots >= SLOTS or len(self.uploads) >= SESSIONS:
            return
        numbers = tuple(self.chance.sample(range(10), 3))
        told = keep(self.vault, numbered(*numbers), "pieces").snapshot
        self.kept[told.id] = Kept("pieces", told.size, None, numbers)

    def delete(self) -> None:
        name = self.some(self.kept)
        if name is not None:
            assert self.client.delete(name).status == 204
            del self.kept[name]
            assert self.client.delete(name).status == 404

    def abort(self) -> None:
        name = self.some(self.uploads)
        if name is not None:
            assert self.client.abort(name).status == 204
            del self.uploads[name]
            assert self.client.offset(name).status == 404

    def get(self) -> None:
        name = self.some(self.kept)
        if name is None:
            return
        one = self.kept[name]
        if one.numbers:
            assert restored(self.vault, name) == numbered(*one.numbers).raw
            return
        answer = self.client.get(name)
        assert (answer.status, hashlib.sha256(answer.body).hexdigest()) == (200, one.digest)
        at = self.chance.randrange(one.size)
        assert self.client.get(name, {"Range": f"bytes={at}-"}).body == answer.body[at:]

    def unknown(self) -> None:
        assert self.client.get("bk_20200101_000000_zzzz").status == 404
        assert self.client.offset("01KDVDNA000000000000000000").status == 404

    def compare(self) -> None:
        """The list and every offset are what the model has."""
        said = self.client.list()
        there = {one["backup_id"]: one for one in said["backups"]}
        assert set(there) == set(self.kept)
        for name, one in self.kept.items():
            assert (there[name]["user_label"], there[name]["size_bytes"]) == (one.label, one.size)
            assert there[name]["soundness"] == "sound"
        assert said["quota"]["remaining"] == SLOTS - self.slots
        for name, upload in self.uploads.items():
            assert self.client.offset(name).json["offset"] == upload.taken

    def some(self, names: dict[str, Kept] | dict[str, Upload]) -> str | None:
        """One of them by chance."""
        return self.chance.choice(sorted(names)) if names else None


def soak(served: Served, *, tenants: int, rounds: int, acts: int, seed: int) -> int:
    """So many rounds in which each tenant acts; between two rounds time goes by and garbage is collected."""
    chance = random.Random(seed)
    models = [
        Model(
            TableClient(served.port, served.token(f"u-{number}")),
            served.client(f"u-{number}"),
            random.Random(chance.random()),
        )
        for number in range(tenants)
    ]

    def work(model: Model) -> None:
        for _ in range(acts):
            model.act()

    for turn in range(rounds):
        with ThreadPoolExecutor(8) as pool:
            for done in [pool.submit(work, model) for model in models]:
                done.result()
        served.clock.step(minutes=20)
        served.collect()
        if turn % 5 == 4:  # a day and a night: uploads have ended by themselves, dead packs go
            for hours in (25, 25):
                served.clock.step(hours=hours)
                served.collect()
            for model in models:
                for name in model.uploads:
                    assert model.client.offset(name).status == 404
                model.uploads.clear()
        else:  # whoever is at work goes on within the hour
            for model in models:
                for name, upload in list(model.uploads.items()):
                    if upload.taken + 1 < len(upload.data):
                        part = upload.data[upload.taken : upload.taken + 1]
                        answer = model.client.chunk(name, upload.taken, part, len(upload.data))
                        upload.taken += 1
                        assert answer.json["offset"] == upload.taken
                    else:
                        assert model.client.abort(name).status == 204
                        del model.uploads[name]
        for model in models:
            model.compare()
    for model in models:
        for _ in range(len(model.kept)):
            model.get()
    return sum(model.acts for model in models)
