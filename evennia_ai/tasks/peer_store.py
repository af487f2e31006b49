"""The tables of tasks that peers gave by A2A: tasks, their events, and addresses to notify.

Everything is written in the game's transactions. A final state stays: `move` changes no task that
has one, whichever process comes first.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import F, OuterRef, Q, Subquery, Window
from django.db.models.functions import RowNumber

from evennia_ai.core.memory.forgetting import PersonNames, without_names
from evennia_ai.models import PeerEvent, PeerHook, PeerTask

WORKING = "working"
INPUT_REQUIRED, AUTH_REQUIRED = "input-required", "auth-required"
COMPLETED, FAILED, CANCELED = "completed", "failed", "canceled"
FINAL = (COMPLETED, FAILED, CANCELED)
ASKING = (INPUT_REQUIRED, AUTH_REQUIRED)
STATUS, ARTIFACT = "status", "artifact"
MOST_WORDS = 200  # messages of one task
# Artifacts of one task, replaced ones included, and the characters of all of them.
MOST_MADE, LONGEST_MADE = 16, 100_000
# `next_at` of an address that was told of the end of its task.
NEVER = 1e18
ACCOUNT = "*#"  # what the id of a person who has an account begins with
TABLES = (PeerTask, PeerEvent, PeerHook)
# Called with the id of a task when something new of it is stored.
CHANGED: list[Callable[[str], None]] = []


# ---- tasks -------------------------------------------------------------------------------------


def begin(task: PeerTask) -> None:
    """Insert a task with its first event."""
    with transaction.atomic():
        task.save(force_insert=True)
        _add(task, STATUS, {"state": task.state}, task.made_at)


def prune(now: float, kept_seconds: float) -> int:
    """Delete tasks that ended long ago. Returns their number."""
    with transaction.atomic():
        return _remove(state__in=FINAL, changed_at__lt=now - kept_seconds)


def remove(number: str) -> None:
    """Delete a task that never began."""
    with transaction.atomic():
        _remove(pk=number)


def find(number: str, **where: object) -> PeerTask | None:
    """The task of an id, if it matches; a peer finds only its own."""
    if not number.isprintable():
        return None  # PostgreSQL refuses NUL characters even in a query
    task: PeerTask | None = PeerTask.objects.filter(pk=number, **where).first()
    return task


def by_request(request: str) -> PeerTask | None:
    """The task whose event in an inbox has that id."""
    task: PeerTask | None = PeerTask.objects.filter(request=request).first()
    return task


def unfinished(**where: object) -> list[PeerTask]:
    """The tasks that have not ended, oldest first."""
    return list(PeerTask.objects.filter(**where).exclude(state__in=FINAL).order_by("made_at"))


def count_unfinished(**where: object) -> int:
    """The number of tasks that have not ended."""
    return int(PeerTask.objects.filter(**where).exclude(state__in=FINAL).count())


def page(wanted: Mapping[str, object], before: str, limit: int) -> tuple[list[PeerTask], int]:
    """One page of tasks, the last changed first.

    Args:
        before: of the last task of the previous page: when it was changed, and its id.

    Returns:
        One task more than `limit` where there are more, and the number of tasks on all pages.
    """
    rows = tasks = PeerTask.objects.filter(**wanted)
    if before:
        at, _, number = before.partition(" ")
        earlier = Q(changed_at__lt=float(at)) | Q(changed_at=float(at), pk__lt=number)
        rows = tasks.filter(earlier)
    return list(rows.order_by("-changed_at", "-pk")[: limit + 1]), int(tasks.count())


def move(
    task: PeerTask,
    state: str,
    now: float,
    *,
    told: Mapping[str, object],
    question: int | None = None,
    answer: str = "",
    artifact: Mapping[str, object] | None = None,
) -> bool:
    """Change the state of a task, and add the events of the change.

    Args:
        told: what the event says besides the state.
        question: the number of the question that is asked now.
        artifact: something that it made, announced before the state.

    Returns:
        False where it had ended already: then nothing changes.
    """
    changes: dict[str, Any] = {"state": state, "changed_at": now}
    if question is not None:
        changes["question"] = question
    if answer:
        changes["answer"] = answer
    with transaction.atomic():
        open_ones = PeerTask.objects.filter(pk=task.pk).exclude(state__in=FINAL)
        # The database decides who comes first; a check before it could be out of date.
        if not open_ones.update(**changes):
            return False
        if artifact is not None:
            _add(task, ARTIFACT, artifact, now)
        _add(task, STATUS, {"state": state, **told}, now)
    task.refresh_from_db()
    return True


def add_message(task: PeerTask, message: Mapping[str, object]) -> None:
    """Add a message to a task; beyond `MOST_WORDS` the oldest but the first are dropped."""
    words = messages_of(task)
    words.append(dict(message))
    if len(words) > MOST_WORDS:
        del words[1]  # the first holds the task itself and the peer's metadata
    task.words = json.dumps(words, ensure_ascii=False)
    PeerTask.objects.filter(pk=task.pk).update(words=task.words)


def messages_of(task: PeerTask) -> list[dict[str, Any]]:
    """The messages of a task, oldest first."""
    return list(json.loads(task.words))


def modes_of(task: PeerTask) -> list[str]:
    """The media types that the peer of a task accepts; empty: all."""
    return list(messages_of(task)[0].get("modes", ()))


# ---- what happened -----------------------------------------------------------------------------


def make(task: PeerTask, made: Mapping[str, object], now: float) -> bool:
    """Add an artifact, or replace one of the same id.

    Returns:
        False where the task has ended, or there is no room for it.
    """
    with transaction.atomic():
        is_open = PeerTask.objects.filter(pk=task.pk).exclude(state__in=FINAL).exists()
        before = [each.data for each in PeerEvent.objects.filter(task=task.pk, kind=ARTIFACT)]
        size = sum(map(len, (*before, json.dumps(made, ensure_ascii=False))))
        if not is_open or len(before) >= MOST_MADE or size > LONGEST_MADE:
            return False
        _add(task, ARTIFACT, made, now)
        # After the commit: nobody may be told of what may still be rolled back.
        transaction.on_commit(lambda: tell(task.pk))
    return True


def made_of(task: str) -> list[dict[str, Any]]:
    """All artifacts of a task, the last version of each; its answer is the last."""
    artifacts: dict[str, dict[str, Any]] = {}
    for event in PeerEvent.objects.filter(task=task, kind=ARTIFACT).order_by("pk"):
        artifact = read(event)
        artifacts[artifact["id"]] = artifact
    return list(artifacts.values())


def tell(task: str) -> None:
    """Call the listeners for news of a task."""
    for listener in CHANGED:
        listener(task)


def _add(task: PeerTask, kind: str, data: Mapping[str, object], at: float) -> None:
    text = json.dumps(data, ensure_ascii=False)
    PeerEvent.objects.create(task=task.pk, kind=kind, data=text, at=at)


def events(task: str, after: int) -> list[PeerEvent]:
    """The events of a task after that number, in order."""
    return list(PeerEvent.objects.filter(task=task, pk__gt=after).order_by("pk"))


def read(event: PeerEvent) -> dict[str, Any]:
    """The content of an event."""
    return dict(json.loads(event.data))


def last_event(task: str, **where: object) -> PeerEvent | None:
    """The last event of a task among those that match."""
    rows = PeerEvent.objects.filter(task=task, **where)
    event: PeerEvent | None = rows.order_by("-pk").first()
    return event


# ---- who is told -------------------------------------------------------------------------------


class DueHook(NamedTuple):
    """An address with something to send: about which task, and the next event."""

    hook: PeerHook
    task: PeerTask
    event: PeerEvent


def put_hook(hook: PeerHook, since: PeerEvent | None) -> None:
    """Store an address, replacing one of the same key.

    Args:
        since: the event of the task after which to notify; None: from the beginning.
    """
    if since is not None:
        hook.sent = since.pk
        hook.next_at = NEVER if _is_end(since) else 0.0
    with transaction.atomic():
        PeerHook.objects.filter(task=hook.task, key=hook.key).delete()
        hook.save(force_insert=True)


def hooks(task: str) -> list[PeerHook]:
    """The addresses to notify about a task."""
    return list(PeerHook.objects.filter(task=task).order_by("pk"))


def remove_hook(task: str, key: str) -> int:
    """Delete an address. Returns the number deleted."""
    return int(PeerHook.objects.filter(task=task, key=key).delete()[0])


def due_hooks(
    now: float, most: int, most_of_one: int, *, busy: Collection[int], full: Collection[int]
) -> list[DueHook]:
    """The addresses with something to send now, longest waiting first.

    Args:
        most, most_of_one: the most to return, of all accounts together and of one.
        busy: ids of addresses that are being sent to.
        full: accounts that get nothing more for now.
    """
    later = PeerEvent.objects.filter(task=OuterRef("task"), pk__gt=OuterRef("sent")).order_by("pk")
    whose = PeerTask.objects.filter(pk=OuterRef("task")).values("account")
    waiting = PeerHook.objects.filter(next_at__lte=now).exclude(pk__in=list(busy))
    due = waiting.annotate(following=Subquery(later.values("pk")[:1]), account=Subquery(whose[:1]))
    due = due.filter(following__isnull=False, account__isnull=False)
    due = due.exclude(account__in=list(full))
    # A share for each account, so that one with many addresses does not starve the others.
    in_turn = Window(RowNumber(), partition_by=[F("account")], order_by=["next_at", "pk"])
    due = due.annotate(place=in_turn).filter(place__lte=most_of_one)
    hooks = list(due.order_by("next_at", "pk")[:most])
    tasks = PeerTask.objects.in_bulk({hook.task for hook in hooks})
    events = PeerEvent.objects.in_bulk({hook.following for hook in hooks})
    return [DueHook(hook, tasks[hook.task], events[hook.following]) for hook in hooks]


def note_sent(hook: int, event: int) -> None:
    """Note that an address was sent an event, or never will be; the last event ends its turn."""
    row = PeerEvent.objects.filter(pk=event).first()
    next_at = NEVER if row is not None and _is_end(row) else 0.0
    # Never backwards, so that an address is not sent the same event twice.
    PeerHook.objects.filter(pk=hook, sent__lt=event).update(sent=event, tries=0, next_at=next_at)


def _is_end(event: PeerEvent) -> bool:
    return event.kind == STATUS and read(event).get("state") in FINAL


def note_failure(hook: int, why: str, next_at: float, *, is_try: bool = True) -> None:
    """Note that an address could not be reached; it is tried again at `next_at`.

    Args:
        is_try: it was asked, and not left alone because others failed at the same host.
    """
    changes = {"problem": why, "next_at": next_at, "tries": F("tries") + int(is_try)}
    PeerHook.objects.filter(pk=hook).update(**changes)


def note_problem(hook: int, why: str) -> None:
    """Note why something is never sent to an address."""
    PeerHook.objects.filter(pk=hook).update(problem=why)


# ---- how it goes -------------------------------------------------------------------------------


def forget(assistant: int, person: str, name: PersonNames) -> None:
    """Delete everything that a person asked an assistant, and their name in what others asked."""
    account = person.removeprefix(ACCOUNT)
    mine = PeerTask.objects.filter(assistant=assistant)
    if account.isdecimal():
        _remove(assistant=assistant, account=int(account))
    for task in mine:
        mine.filter(pk=task.pk).update(
            words=_hidden(task.words, name), answer=name.hidden(task.answer)
        )
        for event in PeerEvent.objects.filter(task=task.pk):
            PeerEvent.objects.filter(pk=event.pk).update(data=_hidden(event.data, name))


def _hidden(data: str, name: PersonNames) -> str:
    """JSON without these names; only values are changed, not keys."""
    return json.dumps(without_names(json.loads(data), name), ensure_ascii=False)


def remove_all(assistant: int) -> None:
    """Delete everything that an assistant was asked."""
    _remove(assistant=assistant)


def _remove(**where: object) -> int:
    """Delete the tasks that match, with what belongs to them. Returns their number."""
    tasks = PeerTask.objects.filter(**where)
    for table in (PeerEvent, PeerHook):
        table.objects.filter(task__in=tasks.values("pk")).delete()
    return int(tasks.delete()[0])
