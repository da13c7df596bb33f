"""Faces, command line: `muniment job export` and `muniment verify`: records that leave and come back."""

from __future__ import annotations

from pathlib import Path

import click

from muniment.errors import ExitCode
from muniment.faces.cli.call import Call
from muniment.faces.cli.frame import command, option
from muniment.faces.cli.job import read_file, the_job
from muniment.faces.cli.usage import wrong
from muniment.faces.cli.values import Word
from muniment.job.errors import NoExport
from muniment.job.export.facts import Format
from muniment.job.settings import ROOT
from muniment.message import say
from muniment.path import printable

KEY_LIMIT = 1 << 16
"""Bytes of a key in PEM."""


@command(
    rehearses=False,
    more=(
        say(
            "Only a job that has ended is exported. What is written is read back, by us and by the public "
            "library of its format, before it is put in place; nothing is overwritten."
        ),
    ),
    examples=(
        "muniment job export rna-7 --format ro-crate",
        "muniment job export rna-7 --format slsa --output rna-7.intoto.json",
    ),
)
@the_job
@option(
    "--format",
    "kind",
    type=Word(*(one.value for one in Format)),
    required=True,
    about=say("A crate with all files, a TES task, or an in-toto statement."),
)
@option("--output", metavar="PATH", about=say("Where to write it; none: a name of the job's, here."))
@option("--key", metavar="FILE", about=say("Sign the statement with this private key, in PEM."))
def export(call: Call, job: str, kind: str, output: str | None, key: str | None) -> None:
    """Write what is on record of a job in a form that strangers can read and check."""
    from muniment.job.export.writing import default_name

    format = Format(kind)
    if key is not None and format is not Format.SLSA:
        raise wrong(say("--key goes with --format slsa"), click.get_current_context())
    jobs = call.house.jobs
    path = Path.cwd() / (output if output is not None else default_name(job, format))
    done = jobs.export(job, format, path, key=read_file(key, KEY_LIMIT))
    for each in done.left_out:
        call.terminal.note(say("not included, for it is no longer what was used: {path}", path=each))
    if format is Format.RO_CRATE and jobs.named_in_exports.publisher is None:
        call.terminal.note(say("Nobody is named in it; the settings job.publisher and job.author do that."))
    call.terminal.result(
        done.to_json(),
        lambda: call.terminal.say(
            say(
                "exported {job} ({verdict}) to {path}",
                job=job,
                verdict=done.verdict,
                path=printable(done.path),
            )
        ),
    )
    call.terminal.next_step(f"muniment verify {printable(output or path.name)}")


def judge_export(call: Call, path: Path, record: str | None, key: str | None) -> ExitCode | None:
    """Judge what `job export` wrote anew, from its bytes and its record, and show what was found."""
    from muniment.job.export.reading import Checked, is_crate, verify_crate, verify_document

    own = Path(record) if record is not None else None
    if path.is_dir() and not is_crate(path):
        raise NoExport(where=printable(str(path)), path=printable(str(path)))
    if path.is_dir():
        if key is not None:
            raise wrong(say("--key goes with a signed statement"), click.get_current_context())
        found = verify_crate(path, own)
    else:
        found = verify_document(path, lambda: call.house.settings().get(ROOT), own, read_file(key, KEY_LIMIT))

    def people(found: Checked = found) -> None:
        for one in found.findings:
            call.terminal.say(
                say(
                    "✗ {code}: {where}: wanted {wanted}, found {found}",
                    code=one.code.value,
                    where=one.where,
                    wanted=one.wanted,
                    found=one.found,
                )
            )
        if found.good:
            call.terminal.say(
                say(
                    "✓ {kind}: it says what the record of {job} says: {verdict}",
                    kind=found.kind,
                    job=found.job,
                    verdict=found.verdict,
                )
            )

    call.terminal.result(found.to_json(), people)
    if found.not_repeated:
        call.terminal.note(say("not looked at: {names}", names=tuple(found.not_repeated)))
    return None if found.good else ExitCode.NOT_VERIFIED
