"""What addresses are to be told, in the game's thread: looked up, and noted when it was told."""

from __future__ import annotations

from dataclasses import dataclass

from evennia.utils import logger

from evennia_ai.a2a.calls import Happening, Snapshot, happening, snapshot
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.models import PeerTask
from evennia_ai.tasks import peer_store

LONGEST_WHY = 200


@dataclass(frozen=True, slots=True)
class Errand:
    """Something that an address is to be told.

    Attributes:
        hook: number of the address.
        tries: how often it failed.
        shown: the task that it is about.
        told: what is told.
    """

    hook: int
    url: str
    token: str
    scheme: str
    credentials: str
    tries: int
    shown: Snapshot
    told: Happening


def due(now: float) -> list[Errand]:
    """The addresses that are to be told something now, each with what comes next."""
    found = []
    for hook, event in peer_store.due_hooks(now):
        task = PeerTask.objects.filter(pk=hook.task).first()
        if task is not None:
            found.append(
                Errand(
                    hook.pk,
                    hook.url,
                    hook.token,
                    hook.scheme,
                    hook.credentials,
                    hook.tries,
                    snapshot(task, with_made=False),
                    happening(event),
                )
            )
    return found


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
