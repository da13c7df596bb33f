"""Room `job`: all that the desk knows of it: which jobs of a workspace have not ended, and the newest."""

from __future__ import annotations

from collections.abc import Iterable

from muniment.disk.errors import NotThere
from muniment.errors import MunimentError
from muniment.job.model import Phase, Status
from muniment.job.rules import ENDED
from muniment.job.store import JobStore, check_job_id
from muniment.record.ledger import Ledger
from muniment.record.subject import Newest, Unfinished, newest_of

PREFIX = "job:"


class JobSubject:
    """The desk's view of the jobs that the ledger of one workspace names (`references`); the folder
    of jobs may hold those of others too."""

    prefix = PREFIX

    def __init__(self, store: JobStore, ledger: Ledger, references: Iterable[str]) -> None:
        self._store = store
        self._ledger = ledger
        self._jobs = sorted(one.removeprefix(PREFIX) for one in references)

    def unfinished(self) -> list[Unfinished]:
        """Jobs that have neither ended nor failed, by what their own files say now.

        One whose folder is gone is none: nothing of it can go on.
        """
        found: list[Unfinished] = []
        for job in self._jobs:
            try:
                at = self._store.glance(check_job_id(job))
            except NotThere:
                continue
            except MunimentError as error:
                step = f"muniment job verify {job}"
                found.append(Unfinished(f"{PREFIX}{job}", error.code, step, fault=error.message))
                continue
            if at.status not in (*ENDED, Status.COMPLETE):
                act = "poll" if at.phase is Phase.SUBMITTED else "show"
                found.append(Unfinished(f"{PREFIX}{job}", at.phase.value, f"muniment job {act} {job}"))
        return found

    def newest(self) -> Newest | None:
        """The job about which the ledger was told last."""
        return newest_of(self._ledger.newest(b',"subject":"job:'))
