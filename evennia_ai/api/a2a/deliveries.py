"""Events that are due at webhooks: read from the database and marked, in the game's thread."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from evennia.utils import logger

from evennia_ai.api.a2a.wire import TaskEvent, TaskSnapshot, read_event, snapshot
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.models import PeerHook
from evennia_ai.tasks import peer_store

LONGEST_WHY = 200


@dataclass(frozen=True, slots=True)
class Delivery:
    """One event on its way to one webhook.

    Attributes:
        hook: the row of the webhook; outside of the game's thread it is only read.
        account: primary key of the account that owns the task.
    """

    hook: PeerHook
    account: int
    task: TaskSnapshot
    event: TaskEvent


def due_deliveries(
    now: float, most: int, most_of_one: int, busy: Collection[int], full: Collection[int]
) -> list[Delivery]:
    """The deliveries that are due now; see `peer_store.due_hooks` for the arguments."""
    return [
        # An event is sent with the ids of its task only.
        Delivery(hook, int(task.account), snapshot(task, with_artifacts=False), read_event(event))
        for hook, task, event in peer_store.due_hooks(now, most, most_of_one, busy=busy, full=full)
    ]


def note_delivered(delivery: Delivery, why: str) -> None:
    """Mark an event as done for its webhook.

    Args:
        why: the reason why it was given up; "" if it was delivered.
    """
    peer_store.note_sent(delivery.hook.pk, delivery.event.seq)
    if why:
        text = one_line(why, LONGEST_WHY)
        peer_store.note_problem(delivery.hook.pk, text)
        logger.log_warn(f"[assistant] task {delivery.task.id}: an address is not told: {text}")


def note_failed(delivery: Delivery, why: str, next_at: float, *, is_try: bool) -> None:
    """Note a failed attempt, or with `is_try` false that none was made, and when to try again."""
    peer_store.note_failure(delivery.hook.pk, one_line(why, LONGEST_WHY), next_at, is_try=is_try)
