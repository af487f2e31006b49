"""Peers as staff see them: accounts that gave tasks, the tasks' states, and their cost."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated

from evennia.accounts.models import AccountDB
from typing_extensions import TypedDict

from evennia_ai.budget import ledger
from evennia_ai.budget.ledger.reading import read_total
from evennia_ai.core.safety.budget import BudgetAccount, Total, period_of
from evennia_ai.core.safety.prices import NANO
from evennia_ai.core.settings.budget import BudgetSpan, Scope
from evennia_ai.core.text.words import counted, number
from evennia_ai.errors import ConfigurationError
from evennia_ai.models import PeerTask, missing_tables
from evennia_ai.operations.naming import list_assistants
from evennia_ai.operations.peers.specialists import RemoteRow, remote_rows
from evennia_ai.operations.result import Result, note
from evennia_ai.operations.times import iso
from evennia_ai.runtime import services
from evennia_ai.tasks import peer_store

MOST_SHOWN = 50
NONE = "No external agent has given a task."
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
        return Result(True, NONE, Peers([], [], remotes))
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
    found = AccountDB.objects.filter(pk__in=accounts).values_list("pk", "username")
    known = {pk: str(username) for pk, username in found}
    return {pk: known.get(pk, f"#{pk}, who is gone") for pk in accounts}


def used_today(account: int | None) -> int:
    """Tokens that an account used today, both as a peer and in the game.

    Raises:
        ConfigurationError, LedgerAwayError: as in `read_total`.
    """
    person = f"{peer_store.ACCOUNT}{account}"
    return _tokens(
        read_total(BudgetAccount(Scope.PLAYER, person, period_of(BudgetSpan.DAY, time.time())))
    )


def _allowed() -> int:
    # The lowest cap on an account's tokens in a day; 0 where there is none.
    caps = [int(ledger.config_for({}).caps_of(Scope.PLAYER).tokens_per_day)]
    with suppress(ConfigurationError):  # with wrong settings no task is accepted at all
        caps.append(services.a2a_config().peer_tokens_per_day)
    return min(filter(None, caps), default=0)


def _peer(pk: int, name: str, tasks: Iterable[PeerTask]) -> PeerRow:
    own = [task for task in tasks if task.account == pk]
    states = Counter(task.state for task in own)
    person = f"{peer_store.ACCOUNT}{pk}"
    month = read_total(
        BudgetAccount(Scope.PLAYER, person, period_of(BudgetSpan.MONTH, time.time()))
    )
    return {
        "account": name,
        "number": pk,
        "tasks": len(own),
        "unfinished": len(own) - sum(states[state] for state in peer_store.FINAL),
        "last_at": iso(own[0].made_at),
        "tokens_today": used_today(pk),
        "tokens_allowed": _allowed(),
        "tokens_month": _tokens(month),
        "cost_month": month.cost_nano / NANO,
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
    return (
        f"{row['account']}: {counted(row['tasks'], 'tasks')}, {row['unfinished']} under way; "
        f"{number(row['tokens_today'])}{cap} tokens today, {number(row['tokens_month'])} this "
        f"month, ${row['cost_month']:.4f}"
    )


def _task_line(row: PeerTaskRow) -> str:
    return (
        f"  {row['made_at']}  {row['account']} asked {row['assistant']} ({row['number']}): "
        f"{row['state']}"
    )
