"""The inbox: delivered at least once, acknowledged once, whoever restarts in between."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest
from tests.disk.processes import gather, start
from tests.handoff.conftest import Place

from muniment.handoff import errors
from muniment.handoff.inbox import Inbox


def inbox(place: Place, who: str = "mei") -> Inbox:
    return Inbox(place.reopen().workspace, who)


def test_a_message_is_given_out_until_it_is_acknowledged(place: Place) -> None:
    receipt = inbox(place).send("lead", "The second sample file was replaced.")
    first, count = inbox(place).read()
    assert (count, first[0].message["text"], first[0].first_read_at) == (
        1, "The second sample file was replaced.", None
    )  # fmt: skip
    second, _ = inbox(place).read()  # the reader was killed and came back
    assert second[0].message == first[0].message and second[0].first_read_at is not None
    assert inbox(place, "bob").read() == ([], 0)  # directed: nobody else gets it
    done = inbox(place).acknowledge(receipt["message_id"])
    assert (done.already, done.by) == (False, "mei")
    assert inbox(place).read() == ([], 0)
    again = inbox(place).acknowledge(receipt["message_id"], "somebody")
    assert (again.already, again.by, again.at) == (True, "mei", done.at)
    kinds = [each.kind for each in place.reopen().workspace.ledger.events() if each.kind.startswith("inbox")]
    assert kinds == ["inbox.sent", "inbox.read", "inbox.acknowledged"]


def test_messages_come_in_the_order_in_which_they_were_sent(place: Place) -> None:
    sent = [inbox(place).send("lead", f"number {number}")["message_id"] for number in range(12)]
    found, count = inbox(place).read(5)
    assert [each.message["message_id"] for each in found] == sent[:5] and count == 12


def test_of_eight_who_acknowledge_at_once_one_is_first(place: Place) -> None:
    message = inbox(place).send("lead", "Who is there?")["message_id"]

    def one(number: int) -> Any:
        place.machine.drawn += 1_000 * (number + 1)
        return inbox(place).acknowledge(message, f"reader-{number}")

    found = gather([start(lambda number=number: one(number)) for number in range(8)])  # type: ignore[misc]
    assert [each.already for each in found].count(False) == 1
    assert len({(each.by, each.at) for each in found}) == 1
    events = [each for each in place.reopen().workspace.ledger.events() if each.kind == "inbox.acknowledged"]
    assert len(events) == 1


@pytest.mark.parametrize("seed", range(6))
def test_senders_and_readers_that_are_killed_lose_nothing(place: Place, seed: int) -> None:
    """Every receipt that was given stands for a message that is there; nothing is half there."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        place.machine.drawn += 10_000
        try:
            os.close(read_end)
            for number in range(1_000):
                receipt = inbox(place).send("lead", f"number {number}")
                os.write(write_end, f"{receipt['message_id']}\n".encode())
                if number % 3 == 2:
                    inbox(place).read()
        finally:
            os._exit(9)
    os.close(write_end)
    with os.fdopen(read_end) as stream:
        said = [stream.readline().strip() for _ in range(3 + 2 * seed)]
        os.kill(child, signal.SIGKILL)
        said += [line.strip() for line in stream if line.endswith("\n")]
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    place.machine.drawn += 1_000_000
    found, count = inbox(place).read(1_000)
    there = [each.message["message_id"] for each in found]
    assert set(said) <= set(there) and len(there) == count <= len(said) + 1
    assert len(set(there)) == len(there)


@pytest.mark.parametrize("who", ["", "..", ".", "a/b", "a b", "x" * 200, "a\x00b"])
def test_names_that_are_none(place: Place, who: str) -> None:
    with pytest.raises(errors.HandoffShape):
        inbox(place, who)


def test_what_is_refused(place: Place) -> None:
    with pytest.raises(errors.SecretValue):
        inbox(place).send("lead", "the key is ghp_" + "aB3d" * 9)
    with pytest.raises(errors.HandoffShape):
        inbox(place).send("lead", " ")
    for unknown in ("msg_x", "../../x", "msg_01KDVDNA000000000000000000"):
        with pytest.raises(errors.MessageUnknown):
            inbox(place).acknowledge(unknown)
    assert inbox(place).read() == ([], 0)
