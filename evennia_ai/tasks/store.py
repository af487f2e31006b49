"""The table of what programs ask by a name of their own: written, found, forgotten and pruned here.

A row is written before the task goes into an inbox, and closed before anybody is told how it ended,
so that a program that asks again by the same name gets its answer, whatever happened meanwhile.
"""

from __future__ import annotations

from collections.abc import Collection
from hashlib import sha256

from evennia_ai.core.memory.forgetting import PersonNames
from evennia_ai.models import PendingTask
from evennia_ai.tasks import peer_store, remote_tasks

OPEN, ANSWERED, FAILED = "open", "answered", "failed"
TALK = "talk"
KEPT_SECONDS = 86_400.0


def digest_of(words: str) -> str:
    """A fingerprint of what was asked: one name stands for one task."""
    return sha256(words.encode("utf-8", "replace")).hexdigest()


def begin(task: PendingTask) -> None:
    """Put a task in, and drop those whose time was over more than a day ago."""
    PendingTask.objects.filter(ends_at__lt=task.began_at - KEPT_SECONDS).delete()
    # Never an update: of two requests by one name at a time the later one fails.
    task.save(force_insert=True)


def find(assistant: int, person: str, name: str) -> PendingTask | None:
    """The task that a person, or "" for the game, asked an assistant by a name."""
    found = PendingTask.objects.filter(assistant=assistant, person=person, name=name)
    task: PendingTask | None = found.first()
    return task


def still_open(events: Collection[str]) -> list[PendingTask]:
    """Those of some events that were asked so, and have not ended."""
    return list(PendingTask.objects.filter(pk__in=events, state=OPEN))


def close(event: str, state: str, text: str, now: float, *, reason: str = "") -> None:
    """Write down how a task ended, once.

    Args:
        event: id of the task.
        text: the report, or why there is none.
        reason: the latter in one word; of a report `TALK` where it is mere words.
    """
    found = PendingTask.objects.filter(pk=event, state=OPEN)
    found.update(state=state, answer=text, reason=reason, ended_at=now)


def remove(event: str) -> None:
    """Take out a task that never began."""
    PendingTask.objects.filter(pk=event).delete()


def forget(assistant: int, person: str, name: PersonNames) -> None:
    """Take out all that a person asked an assistant, and their name in what it told others."""
    tasks = PendingTask.objects.filter(assistant=assistant)
    tasks.filter(person=person).delete()
    for task in tasks:
        tasks.filter(pk=task.pk).update(answer=name.hidden(task.answer))
    peer_store.forget(assistant, person, name)
    remote_tasks.forget(assistant, person)


def remove_all(assistant: int) -> None:
    """Take out all that an assistant was asked."""
    PendingTask.objects.filter(assistant=assistant).delete()
    peer_store.remove_all(assistant)
    remote_tasks.remove_all(assistant)
