"""Remote agents that assistants give tasks to, as staff see them: state, tasks, cost."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Annotated

from django.db.models import Sum
from typing_extensions import TypedDict

from evennia_ai.a2a_client.agents import RemoteStatus
from evennia_ai.core.safety.budget import start_of
from evennia_ai.core.safety.prices import NANO
from evennia_ai.core.settings.budget import BudgetSpan
from evennia_ai.core.text.words import number
from evennia_ai.models import RemoteTask, missing_tables
from evennia_ai.operations.result import Result, note
from evennia_ai.runtime import services
from evennia_ai.tasks import remote_tasks

NONE = "No external agent is named in EVENNIA_AI_REMOTE_SPECIALISTS."
NOT_MIGRATED = (
    "This game has no table for tasks of external agents yet; its owner has to type: evennia "
    "migrate"
)


class RemoteRow(RemoteStatus):
    """A remote agent, and the tasks given to it by all assistants."""

    tasks_today: int
    unfinished: int
    failed_month: int
    tokens_month: int
    cost_month: Annotated[float, note("Cost of this month in US dollars.")]


class Remotes(TypedDict):
    """All remote agents."""

    agents: list[RemoteRow]


def list_remotes() -> Result[Remotes]:
    """List the remote agents that assistants may give tasks to."""
    if not services.remote_specialists().status():
        return Result(True, NONE, Remotes(agents=[]))
    if missing_tables(RemoteTask):
        return Result.unavailable(NOT_MIGRATED)
    rows = remote_rows()
    return Result(True, "\n".join(map(_line, rows)), Remotes(agents=rows))


def remote_rows() -> list[RemoteRow]:
    """Rows of all remote agents; none before the game is migrated."""
    known = services.remote_specialists().status()
    if not known or missing_tables(RemoteTask):
        return []
    now = time.time()
    return [_row(status, now) for status in known]


def _row(status: RemoteStatus, now: float) -> RemoteRow:
    since = start_of(BudgetSpan.MONTH, now)
    # Tasks are stored under the agent's name in lower case, since settings may change its case.
    every = RemoteTask.objects.filter(agent=status["name"].casefold())
    tasks = every.filter(began_at__gte=since)
    sums = tasks.aggregate(tokens=Sum("tokens"), cost=Sum("cost_nano"))
    return {
        **status,
        "tasks_today": remote_tasks.count_today(status["name"], now),
        "unfinished": every.filter(state__in=remote_tasks.UNFINISHED).count(),
        "failed_month": tasks.filter(state__in=remote_tasks.OVER_UNANSWERED).count(),
        "tokens_month": sums["tokens"] or 0,
        "cost_month": (sums["cost"] or 0) / NANO,
    }


def _line(row: RemoteRow) -> str:
    return "; ".join(_parts(row))


def _parts(row: RemoteRow) -> Iterator[str]:
    of = f" of {number(row['tasks_allowed'])}" if row["tasks_allowed"] else ""
    yield f"{row['name']} ({row['where']}): {row['state']}, breaker {row['breaker']}"
    if row["problem"]:
        yield row["problem"].rstrip(".")
    yield f"{row['tasks_today']}{of} tasks today, {row['unfinished']} under way"
    yield (
        f"this month {row['failed_month']} failed, {number(row['tokens_month'])} tokens, "
        f"${row['cost_month']:.4f}"
    )
