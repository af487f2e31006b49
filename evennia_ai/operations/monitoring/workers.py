"""Worker processes as staff see them: how many run, which jobs wait, and which stalled."""

from __future__ import annotations

from typing import Annotated

from typing_extensions import TypedDict

from evennia_ai.core.text.words import counted
from evennia_ai.operations.result import note
from evennia_ai.runtime import services
from evennia_ai.runtime.assistant import Assistant

OK, OFF, FAILED = "ok", "off", "failed"


class WorkersRow(TypedDict):
    """The jobs of worker processes, of one assistant or of all."""

    state: Annotated[
        str, note("`off` if the game does the work itself; otherwise `ok` or `failed`.")
    ]
    workers: Annotated[int, note("Number of running workers.")]
    waiting: Annotated[int, note("Number of jobs that no worker has taken.")]
    running: int
    stalled: Annotated[int, note("Number of jobs whose worker no longer responds.")]
    given_up: Annotated[int, note("Jobs abandoned because they crashed every worker.")]
    problem: Annotated[str, note("What is wrong and what to do about it, or empty.")]


def workers_row(script: Assistant | None = None) -> WorkersRow:
    """Count the jobs of workers; without a query where no workers are configured.

    Args:
        script: the assistant whose jobs are counted; None: those of all assistants.
    """
    now = services.work().standing(None if script is None else script.pk)
    state = FAILED if now.problem else OK if now.is_on else OFF
    return {
        "state": state,
        "workers": now.workers,
        "waiting": now.waiting,
        "running": now.running,
        "stalled": now.stalled,
        "given_up": now.given_up,
        "problem": now.problem,
    }


def in_words(row: WorkersRow) -> str:
    """Describe a row in one line; "" where no workers are configured."""
    if row["state"] == OFF:
        return ""
    jobs = (
        f"{row['workers']} at work; {counted(row['waiting'], 'jobs')} waiting, "
        f"{row['running']} under way, {row['stalled']} stalled"
    )
    given_up = f", {row['given_up']} given up" if row["given_up"] else ""
    problem = f". {row['problem']}" if row["problem"] else ""
    return jobs + given_up + problem
