"""News that addresses are to be told, in the game's thread: looked up, and noted once told."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from evennia.utils import logger

from evennia_ai.api.a2a.snapshots import Happening, TaskSnapshot, happening, snapshot
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.tasks import peer_store

LONGEST_WHY = 200


@dataclass(frozen=True, slots=True)
class Errand:
    """Something that an address is to be told.

    Attributes:
        hook: number of the address.
        account: number of the one whose task it is.
        tries: how often it failed.
        shown: the task that it is about.
        told: what is told.
    """

    hook: int
    account: int
    url: str
    token: str
    scheme: str
    credentials: str
    tries: int
    shown: TaskSnapshot
    told: Happening


def due(
    now: float, most: int, most_of_one: int, busy: Collection[int], full: Collection[int]
) -> list[Errand]:
    """The addresses that are to be told something now, as of `peer_store.due_hooks`."""
    return [
        Errand(
            hook.pk,
            int(task.account),
            hook.url,
            hook.token,
            hook.scheme,
            hook.credentials,
            hook.tries,
            snapshot(task, with_made=False),
            happening(event),
        )
        for hook, task, event in peer_store.due_hooks(now, most, most_of_one, busy=busy, full=full)
    ]


def told(errand: Errand, why: str) -> None:
    """An address was told, or never will be.

    Args:
        why: it never will be; "" where it was.
    """
    peer_store.note_sent(errand.hook, errand.told.seq)
    if why:
        text = one_line(why, LONGEST_WHY)
        peer_store.note_problem(errand.hook, text)
        logger.log_warn(f"[assistant] task {errand.shown.id}: an address is not told: {text}")


def failed(errand: Errand, why: str, next_at: float) -> None:
    """An address could not be told, and is tried again then."""
    peer_store.note_failure(errand.hook, one_line(why, LONGEST_WHY), next_at)
