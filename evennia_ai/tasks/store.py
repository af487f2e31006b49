"""The table of named requests of programs: written, found, forgotten and pruned only here.

A row is written before the task goes into an inbox, and closed before anybody is told how it ended.
So a program that asks again by the same name gets its answer, whatever happened meanwhile.
"""

from __future__ import annotations

from collections.abc import Collection
from hashlib import sha256

from evennia_ai.core.memory.forgetting import PersonNames
from evennia_ai.models import PendingTask
from evennia_ai.tasks import peer_store, remote_tasks

OPEN, ANSWERED, FAILED = "open", "answered", "failed"
TALK = "talk"  # the `reason` of a report that is only words, for which nothing was done
KEPT_SECONDS = 86_400.0  # that an outcome is kept after the end of its time


def digest_of(words: str) -> str:
    """A fingerprint of a request: one name stands for one task."""
    return sha256(words.encode("utf-8", "replace")).hexdigest()


def begin(task: PendingTask) -> None:
    """Insert a task, and delete those whose time ended more than a day ago."""
    PendingTask.objects.filter(ends_at__lt=_kept_since(task.began_at)).delete()
    # `force_insert`, so that of two simultaneous requests by one name the second fails.
    task.save(force_insert=True)


def _kept_since(now: float) -> float:
    """The end of the time of the oldest task whose outcome is kept."""
    return now - KEPT_SECONDS


def find(assistant: int, person: str, name: str, now: float) -> PendingTask | None:
    """The task that a person, or "" for the game, gave an assistant under a name.

    An outcome that is kept no longer is not found, even if `begin` has not deleted it yet.
    """
    tasks = PendingTask.objects.filter(assistant=assistant, person=person, name=name)
    task: PendingTask | None = tasks.first()
    is_over = task is not None and task.state != OPEN and task.ends_at < _kept_since(now)
    return None if is_over else task


def still_open(events: Collection[str]) -> list[PendingTask]:
    """The named tasks among some events that have not ended."""
    return list(PendingTask.objects.filter(pk__in=events, state=OPEN))


def close(event: str, state: str, text: str, now: float, *, reason: str = "") -> None:
    """Store how a task ended, once.

    Args:
        text: the report, or why there is none.
        reason: that reason in one word; for a report, `TALK` where it is only words.
    """
    rows = PendingTask.objects.filter(pk=event, state=OPEN)
    rows.update(state=state, answer=text, reason=reason, ended_at=now)


def remove(event: str) -> None:
    """Delete a task that never began."""
    PendingTask.objects.filter(pk=event).delete()


def forget(assistant: int, person: str, name: PersonNames) -> None:
    """Delete everything that a person asked an assistant, and their name in its other answers."""
    tasks = PendingTask.objects.filter(assistant=assistant)
    tasks.filter(person=person).delete()
    for task in tasks:
        tasks.filter(pk=task.pk).update(answer=name.hidden(task.answer))
    peer_store.forget(assistant, person, name)
    remote_tasks.forget(assistant, person)


def remove_all(assistant: int) -> None:
    """Delete everything that an assistant was asked."""
    PendingTask.objects.filter(assistant=assistant).delete()
    peer_store.remove_all(assistant)
    remote_tasks.remove_all(assistant)
