"""Room `job`: the public libraries of the formats: a second pair of eyes on what was written, and the
signatures of statements.

The documents are made here, from the record.  These libraries read them back as anybody else
would, before anything is said to be exported (decision 311).  They are installed on request.
"""

from __future__ import annotations

import base64
import importlib
import warnings
from typing import Any

from muniment.job.errors import BadKey, ExportLibraryMissing, ExportNotReadBack
from muniment.job.export.facts import Format
from muniment.job.export.slsa import PAYLOAD
from muniment.message import say
from muniment.path import printable

_NEEDS = {
    Format.RO_CRATE: ("rocrate", ("rocrate.rocrate",)),
    Format.TES: ("", ()),
    Format.SLSA: ("in-toto-attestation", ("in_toto_attestation.v1.statement", "google.protobuf.json_format")),
}
_SIGNING = ("securesystemslib", ("securesystemslib.dsse", "securesystemslib.signer", "cryptography"))


def require(format: Format, *, signing: bool = False) -> None:
    """`ExportLibraryMissing`, with the exact line that installs it, unless all that is needed is here."""
    needed = [_NEEDS[format], *([_SIGNING] if signing else [])]
    for package, modules in needed:
        for module in modules:
            try:
                importlib.import_module(module)
            except ModuleNotFoundError as error:
                install = "pip install 'muniment[provenance]'"
                raise ExportLibraryMissing(format=format.value, needs=package, install=install) from error


def read_crate(folder: str, document: dict[str, Any]) -> None:
    """Read a crate as `rocrate` does; `ExportNotReadBack` unless it sees the same entities."""
    rocrate: Any = importlib.import_module("rocrate.rocrate")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            crate = rocrate.ROCrate(folder)
        except Exception as error:
            raise _refused("rocrate", error) from error
    seen = {entity.id for entity in crate.get_entities()}
    owed = {entity["@id"] for entity in document["@graph"]}
    if seen != owed:
        odd = min(seen ^ owed)
        raise ExportNotReadBack(place=printable(odd), wanted=say("this entity"), found=say("another crate"))


def read_statement(document: dict[str, Any]) -> None:
    """Read a statement and its predicate as the public library does, with no unknown field let through."""
    protobuf: Any = importlib.import_module("google.protobuf.json_format")
    statement: Any = importlib.import_module("in_toto_attestation.v1.statement")
    provenance: Any = importlib.import_module("in_toto_attestation.predicates.provenance.v1.provenance_pb2")
    try:
        parsed = protobuf.ParseDict(document, statement.spb.Statement())
        statement.Statement.copy_from_pb(parsed).validate()
        protobuf.ParseDict(document["predicate"], provenance.Provenance())
    except (ValueError, protobuf.ParseError) as error:
        raise _refused("in-toto-attestation", error) from error


def _refused(reader: str, error: Exception) -> ExportNotReadBack:
    return ExportNotReadBack(
        place=reader,
        wanted=say("a document that it reads"),
        found=printable(f"{type(error).__name__}: {error}"),
    )


def signed(payload: bytes, key: bytes) -> dict[str, Any]:
    """A DSSE envelope around a statement, signed with a private key in PEM; `BadKey`."""
    require(Format.SLSA, signing=True)
    dsse: Any = importlib.import_module("securesystemslib.dsse")
    signer: Any = importlib.import_module("securesystemslib.signer")
    pem: Any = importlib.import_module("cryptography.hazmat.primitives.serialization")
    try:
        private = signer.CryptoSigner(pem.load_pem_private_key(key, None))
        envelope = dsse.Envelope(payload, PAYLOAD, {})
        envelope.sign(private)
    except (ValueError, TypeError) as error:
        raise BadKey(why=say("{finding}", finding=printable(str(error)))) from error
    found: dict[str, Any] = envelope.to_dict()
    return found


def opened(envelope: dict[str, Any], key: bytes | None) -> tuple[bytes, bool | None]:
    """The payload of an envelope, and whether its signature is by that key; None when there is no key.

    A `ValueError` says what is wrong with the envelope itself.
    """
    if set(envelope) != {"payload", "payloadType", "signatures"} or envelope["payloadType"] != PAYLOAD:
        raise ValueError("not an envelope around a statement")
    try:
        payload = base64.b64decode(envelope["payload"], validate=True)
    except (TypeError, ValueError) as error:
        raise ValueError("its payload is not base64") from error
    if key is None:
        return payload, None
    require(Format.SLSA, signing=True)
    dsse: Any = importlib.import_module("securesystemslib.dsse")
    errors: Any = importlib.import_module("securesystemslib.exceptions")
    signer: Any = importlib.import_module("securesystemslib.signer")
    pem: Any = importlib.import_module("cryptography.hazmat.primitives.serialization")
    try:
        public = signer.SSlibKey.from_crypto(pem.load_pem_public_key(key))
    except (ValueError, TypeError) as error:
        raise BadKey(why=say("{finding}", finding=printable(str(error)))) from error
    try:
        copied = {**envelope, "signatures": [dict(one) for one in envelope["signatures"]]}
        dsse.Envelope.from_dict(copied).verify([public], 1)
    except (errors.VerificationError, errors.FormatError, ValueError, KeyError, TypeError, AttributeError):
        return payload, False
    return payload, True
