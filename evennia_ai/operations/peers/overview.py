"""Peers as staff see them: accounts that gave tasks, and agents that got some: state and cost."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated

from django.db.models import Sum
from evennia.accounts.models import AccountDB
from typing_extensions import TypedDict

from evennia_ai.a2a_client.agents import RemoteStatus
from evennia_ai.budget import ledger
from evennia_ai.budget.ledger.reading import count_unpriced, read_total
from evennia_ai.core.safety.budget import BudgetAccount, Total, period_of, start_of
from evennia_ai.core.safety.prices import NANO
from evennia_ai.core.settings.budget import BudgetSpan, Scope
from evennia_ai.core.text.words import counted, money, number
from evennia_ai.errors import ConfigurationError
from evennia_ai.models import PeerTask, RemoteTask, missing_tables
from evennia_ai.operations.budget.caps import known_cost
from evennia_ai.operations.naming import list_assistants
from evennia_ai.operations.result import Result, note
from evennia_ai.operations.times import clock_of, iso
from evennia_ai.runtime import services
from evennia_ai.tasks import peer_store, remote_tasks

NO_AGENTS = "No external agent is named in EVENNIA_AI_REMOTE_SPECIALISTS."
NO_TABLE = (
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


def list_remotes() -> Result[list[RemoteRow]]:
    """List the remote agents that assistants may give tasks to."""
    if not services.remote_specialists().status():
        return Result(True, NO_AGENTS, [])
    if missing_tables(RemoteTask):
        return Result.unavailable(NO_TABLE)
    rows = remote_rows()
    return Result(True, "\n".join("; ".join(_parts(row)) for row in rows), rows)


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


def _parts(row: RemoteRow) -> Iterator[str]:
    of = f" of {number(row['tasks_allowed'])}" if row["tasks_allowed"] else ""
    yield f"{row['name']} ({row['where']}): {row['state']}, breaker {row['breaker']}"
    if row["problem"]:
        yield row["problem"].rstrip(".")
    yield f"{row['tasks_today']}{of} tasks today, {row['unfinished']} under way"
    yield (
        f"this month {row['failed_month']} failed, {number(row['tokens_month'])} tokens, "
        f"{money(row['cost_month'])}"
    )


MOST_SHOWN = 50
NO_TASKS = "No external agent has given a task."
NOT_MIGRATED = (
    "This game has no table for tasks of peers yet; its owner has to type: evennia migrate"
)
UNKNOWN = "The usage is unknown now: {error}."


class PeerRow(TypedDict):
    """An account that gave tasks, and the cost of all its model calls."""

    account: str
    number: int
    tasks: Annotated[int, note("Number of tasks still stored.")]
    unfinished: int
    last_at: Annotated[str, note("Time of its latest task (ISO 8601).")]
    tokens_today: int
    tokens_allowed: Annotated[int, note("Tokens per day by the lowest cap; 0 if there is none.")]
    tokens_month: int
    cost_month: Annotated[
        float, note("Cost of this month in US dollars, as far as prices are known.")
    ]
    unpriced_calls: Annotated[int, note("Model calls of this month without a known price.")]


class PeerTaskRow(TypedDict):
    """A task without its text, which is private."""

    task: str
    account: str
    assistant: str
    state: str
    number: Annotated[int, note("Number of its message, as used by `events/{number}/`.")]
    made_at: str
    changed_at: str


@dataclass(frozen=True, slots=True)
class Peers:
    """Accounts that gave tasks, the latest first; the newest tasks; and remote agents."""

    peers: list[PeerRow]
    tasks: list[PeerTaskRow]
    remotes: Annotated[
        list[RemoteRow],
        note("External agents that assistants may ask; empty if an account is given."),
    ]


def list_peers(name: str = "") -> Result[Peers]:
    """List the peers that gave tasks over A2A, and the agents that assistants may give tasks.

    Args:
        name: name of one account; "": all.
    """
    if missing_tables(*peer_store.TABLES):
        return Result.unavailable(NOT_MIGRATED)
    # Without the texts, which are long and not shown.
    tasks = list(PeerTask.objects.defer("words", "answer").order_by("-made_at"))
    names = _names({task.account for task in tasks})
    if name:
        tasks = [task for task in tasks if names[task.account].casefold() == name.casefold()]
        if not tasks:
            return Result.not_found(f"No account {name!r} has given a task that is still stored.")
    remotes = [] if name else remote_rows()
    if not tasks:
        return Result(True, NO_TASKS, Peers([], [], remotes))
    accounts = dict.fromkeys(task.account for task in tasks)
    try:
        peers = [_peer(pk, names[pk], tasks) for pk in accounts]
    except ConfigurationError as error:
        return Result.unavailable(UNKNOWN.format(error=error))
    assistants = {script.id: str(script.key) for script in list_assistants()}
    rows = [_task(task, names, assistants) for task in tasks[:MOST_SHOWN]]
    lines = [*map(_peer_line, peers), "", *map(_task_line, rows)]
    return Result(True, "\n".join(lines), Peers(peers, rows, remotes))


def _names(accounts: Iterable[int]) -> dict[int, str]:
    accounts_named = AccountDB.objects.filter(pk__in=accounts).values_list("pk", "username")
    known = {pk: str(username) for pk, username in accounts_named}
    return {pk: known.get(pk, f"#{pk}, who is gone") for pk in accounts}


def used_today(account: int | None) -> int:
    """Tokens that an account used today, both as a peer and in the game.

    Raises:
        ConfigurationError, LedgerAwayError: as in `read_total`.
    """
    return _tokens(_used(account, BudgetSpan.DAY))


def _used(account: int | None, span: BudgetSpan) -> Total:
    person = f"{peer_store.ACCOUNT}{account}"
    return read_total(BudgetAccount(Scope.PLAYER, person, period_of(span, time.time())))


def _allowed(today: Total) -> int:
    # The lowest cap on an account's tokens in a day; 0 where there is none.
    cap = int(ledger.config_for({}).caps_of(Scope.PLAYER).tokens_per_day)
    caps = [cap and cap + today.granted_tokens]
    with suppress(ConfigurationError):  # with wrong settings no task is accepted at all
        caps.append(services.a2a_config().peer_tokens_per_day)
    return min(filter(None, caps), default=0)


def _peer(pk: int, name: str, tasks: Iterable[PeerTask]) -> PeerRow:
    own = [task for task in tasks if task.account == pk]
    states = Counter(task.state for task in own)
    today, month = (_used(pk, span) for span in (BudgetSpan.DAY, BudgetSpan.MONTH))
    return {
        "account": name,
        "number": pk,
        "tasks": len(own),
        "unfinished": len(own) - sum(states[state] for state in peer_store.FINAL),
        "last_at": iso(own[0].made_at),
        "tokens_today": _tokens(today),
        "tokens_allowed": _allowed(today),
        "tokens_month": _tokens(month),
        "cost_month": month.cost_nano / NANO,
        "unpriced_calls": count_unpriced(f"{peer_store.ACCOUNT}{pk}", time.time()),
    }


def _tokens(total: Total) -> int:
    return int(total.prompt_tokens + total.completion_tokens)


def _task(task: PeerTask, names: dict[int, str], assistants: dict[int, str]) -> PeerTaskRow:
    return {
        "task": task.pk,
        "account": names[task.account],
        "assistant": assistants.get(task.assistant, "one that is gone"),
        "state": task.state,
        "number": task.number,
        "made_at": iso(task.made_at),
        "changed_at": iso(task.changed_at),
    }


def _peer_line(row: PeerRow) -> str:
    cap = f" of {number(row['tokens_allowed'])}" if row["tokens_allowed"] else ""
    cost = known_cost(money(row["cost_month"]), row["cost_month"], row["unpriced_calls"])
    return (
        f"{row['account']}: {counted(row['tasks'], 'tasks')}, {row['unfinished']} under way; "
        f"{number(row['tokens_today'])}{cap} tokens today, {number(row['tokens_month'])} this "
        f"month, {cost}"
    )


def _task_line(row: PeerTaskRow) -> str:
    return (
        f"  {clock_of(row['made_at'])}  {row['account']} asked {row['assistant']} "
        f"({row['number']}): {row['state']}"
    )
