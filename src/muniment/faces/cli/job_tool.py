"""Faces, command line: `muniment job pull` and `job run`: the tool of a job, in a container."""

from __future__ import annotations

from pathlib import Path

import click

from muniment.errors import ExitCode
from muniment.faces.cli.call import Call
from muniment.faces.cli.frame import argument, command, option
from muniment.faces.cli.job import show, the_job
from muniment.message import say


@command(rehearses=False)
@the_job
def pull(call: Call, job: str) -> None:
    """Fetch the image of the job's tool."""
    show(call, call.house.jobs.pull(job))


@command(
    rehearses=False,
    more=(
        say(
            "The program sees the results of the job in /inputs, what --script names in /scripts, and writes "
            "into /outputs, where it begins. It has no network, and no more of this machine than that."
        ),
        say("The exit code is 0 only when the program ended with 0 and what it left was taken in; else 4."),
    ),
    examples=("muniment job run rna-7 -- seqtk comp /inputs/reads.fastq",),
)
@the_job
@argument("words", nargs=-1, type=click.UNPROCESSED, about=say("After --: the program and its arguments."))
@option(
    "--input",
    "inputs",
    metavar="FILE",
    multiple=True,
    about=say("Give the program this file, instead of the results."),
)
@option(
    "--script",
    "scripts",
    metavar="FILE",
    multiple=True,
    about=say("Keep this script, and give it to the program."),
)
def run(
    call: Call, job: str, words: tuple[str, ...], inputs: tuple[str, ...], scripts: tuple[str, ...]
) -> ExitCode | None:
    """Run the job's tool in a container without a network."""
    view = call.house.jobs.run(
        job,
        words,
        inputs=[str(Path(one).absolute()) for one in inputs],
        scripts=[str(Path(one).absolute()) for one in scripts],
    )
    show(call, view)
    return None if view.history.runs[-1].succeeded else ExitCode.NOT_VERIFIED
