"""Floor 0: digests, instants and identifiers: what they accept, and that they accept nothing else."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muniment.clock import instant, read_instant, system_clock
from muniment.digest import EMPTY, Digest, sha256, sha256_stream
from muniment.ids import is_ulid, new_reference, new_ulid

# Digests.


@given(st.lists(st.binary(max_size=20), max_size=6))
def test_a_stream_has_the_digest_of_its_bytes(chunks: list[bytes]) -> None:
    whole = b"".join(chunks)
    assert sha256_stream(chunks) == (sha256(whole), len(whole))
    assert sha256(whole).hex == hashlib.sha256(whole).hexdigest()


@given(st.binary(max_size=8))
def test_a_digest_reads_back(data: bytes) -> None:
    digest = sha256(data)
    assert Digest.parse(str(digest)) == digest
    assert digest.hex.startswith(digest.short) and len(digest.short) == 12


def test_known_digests() -> None:
    # FIPS 180-4, examples.
    assert sha256(b"abc").hex == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert EMPTY.hex == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


HEX = "0" * 64


@pytest.mark.parametrize(
    "text",
    [
        "",
        HEX,
        "sha256:",
        f"sha256:{HEX[1:]}",
        f"sha256:{HEX}0",
        f"sha256:{HEX[1:]}g",
        f"sha256:{'A' * 64}",
        f"SHA256:{HEX}",
        f"sha512:{HEX}",
        f" sha256:{HEX}",
        f"sha256: {HEX}",
        f"sha256:{HEX}\n",
        f"sha256:{chr(0x660) * 64}",
    ],
)
def test_no_digest(text: str) -> None:
    with pytest.raises(ValueError):
        Digest.parse(text)


# Instants.


@given(
    st.datetimes(
        timezones=st.sampled_from([UTC, timezone(timedelta(hours=8)), timezone(-timedelta(hours=9.5))]),
        min_value=datetime(2, 1, 1),
        max_value=datetime(9998, 12, 31),
    )
)
def test_an_instant_reads_back_whatever_its_zone(moment: datetime) -> None:
    text = instant(moment)
    assert len(text) == 27 and text.endswith("Z")
    assert read_instant(text) == moment


@given(st.datetimes(), st.datetimes())
def test_kept_instants_sort_as_text(one: datetime, other: datetime) -> None:
    first, second = one.replace(tzinfo=UTC), other.replace(tzinfo=UTC)
    assert (instant(first) < instant(second)) == (first < second)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-11-30T14:28:00Z",
        "2026-11-30T14:28:00.0Z",
        "2026-11-30T14:28:00.000000",
        "2026-11-30T14:28:00.000000+00:00",
        "2026-11-30 14:28:00.000000Z",
        "2026-11-31T14:28:00.000000Z",
        "2026-1-30T14:28:00.000000Z",
        "2026-11-30T14:28:60.000000Z",
        "2026-11-30T24:00:00.000000Z",
        "\u0662\u0660\u0662\u0666-11-30T14:28:00.000000Z",
        " 2026-11-30T14:28:00.000000Z",
        "2026-11-30T14:28:00.000000Z\n",
        "../../etc/passwd",
    ],
)
def test_no_instant(text: str) -> None:
    with pytest.raises(ValueError):
        read_instant(text)


def test_the_machine_s_clock_knows_its_zone() -> None:
    assert system_clock().tzinfo is UTC


# Identifiers.  The alphabet and the layout are those of the ULID specification.

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def spelled(number: int) -> str:
    return "".join(ALPHABET[number >> 5 * place & 31] for place in range(25, -1, -1))


moments = st.datetimes(min_value=datetime(1970, 1, 2), max_value=datetime(9999, 1, 1)).map(
    lambda moment: moment.replace(tzinfo=UTC)
)


@given(moments, st.binary(min_size=10, max_size=10))
def test_a_ulid_is_time_then_chance(moment: datetime, chance: bytes) -> None:
    text = new_ulid(moment, lambda count: chance[:count])
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    milliseconds = since // timedelta(milliseconds=1)
    assert text == spelled(milliseconds << 80 | int.from_bytes(chance, "big"))
    assert is_ulid(text)


@given(moments, moments)
def test_ulids_sort_by_time(one: datetime, other: datetime) -> None:
    first, second = (new_ulid(moment, bytes)[:10] for moment in (one, other))
    step = timedelta(milliseconds=1)
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    assert (first < second) == ((one - epoch) // step < (other - epoch) // step)


def test_a_reference_has_its_prefix() -> None:
    text = new_reference("arc", datetime(2026, 11, 30, tzinfo=UTC))
    prefix, _, ulid = text.partition("_")
    assert prefix == "arc" and is_ulid(ulid)


def test_two_ids_of_one_instant_differ() -> None:
    now = datetime(2026, 11, 30, tzinfo=UTC)
    assert len({new_ulid(now) for _ in range(1000)}) == 1000


ULID = "01KDVDNA000000000000000000"


@pytest.mark.parametrize(
    "text",
    [
        "",
        ULID[1:],
        ULID + "0",
        ULID.lower(),
        "8" + ULID[1:],
        ULID[:-1] + "I",
        ULID[:-1] + "L",
        ULID[:-1] + "O",
        ULID[:-1] + "U",
        ULID[:-1] + "\n",
        ULID + "\n",
        ULID[:-1] + "\u0660",
        "../" + ULID[3:],
    ],
)
def test_no_ulid(text: str) -> None:
    assert is_ulid(ULID)
    assert not is_ulid(text)
