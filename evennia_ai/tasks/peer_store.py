"""The tables of what peers asked by A2A: tasks, what happened to them, and who is told.

All is written in the game's transaction. A state that ends a task is final: `move` changes nothing
of a task that has one, whoever comes first.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import F, OuterRef, Q, Subquery, Window
from django.db.models.functions import RowNumber

from evennia_ai.core.memory.forgetting import PersonNames
from evennia_ai.models import PeerEvent, PeerHook, PeerTask

WORKING = "working"
INPUT_REQUIRED, AUTH_REQUIRED = "input-required", "auth-required"
COMPLETED, FAILED, CANCELED = "completed", "failed", "canceled"
FINAL = (COMPLETED, FAILED, CANCELED)
ASKING = (INPUT_REQUIRED, AUTH_REQUIRED)
STATUS, ARTIFACT = "status", "artifact"
MOST_WORDS = 200
# Of what one task made: pieces, those made again among them, and characters of them all.
MOST_MADE, LONGEST_MADE = 16, 100_000
# When an address is told something next that was told the end of its task.
NEVER = 1e18
ACCOUNT = "*#"
TABLES = (PeerTask, PeerEvent, PeerHook)
# Told the id of a task of which something new is stored.
CHANGED: list[Callable[[str], None]] = []


# ---- tasks -------------------------------------------------------------------------------------


def begin(task: PeerTask) -> None:
    """Put a task in with its first event."""
    with transaction.atomic():
        task.save(force_insert=True)
        _add(task, STATUS, {"state": task.state}, task.made_at)


def prune(now: float, kept_seconds: float) -> int:
    """Drop the tasks that were over long ago. Returns how many there were."""
    with transaction.atomic():
        old = PeerTask.objects.filter(state__in=FINAL, changed_at__lt=now - kept_seconds)
        numbers = list(old.values_list("pk", flat=True))
        if numbers:
            _remove(numbers)
    return len(numbers)


def remove(number: str) -> None:
    """Take out a task that never began."""
    with transaction.atomic():
        _remove([number])


def find(number: str, **where: object) -> PeerTask | None:
    """The task of that id, if it is one of those: a peer finds no other's."""
    if not number.isprintable():
        return None  # PostgreSQL takes no NUL, not even to look for it
    task: PeerTask | None = PeerTask.objects.filter(pk=number, **where).first()
    return task


def by_request(request: str) -> PeerTask | None:
    """The task whose event in an inbox has that id."""
    task: PeerTask | None = PeerTask.objects.filter(request=request).first()
    return task


def unfinished(**where: object) -> list[PeerTask]:
    """The tasks that are not over, the oldest first."""
    return list(PeerTask.objects.filter(**where).exclude(state__in=FINAL).order_by("made_at"))


def count_unfinished(**where: object) -> int:
    """The number of them."""
    return int(PeerTask.objects.filter(**where).exclude(state__in=FINAL).count())


def page(wanted: Mapping[str, object], before: str, limit: int) -> tuple[list[PeerTask], int]:
    """Tasks, the last changed first.

    Args:
        wanted: what is asked of the rows.
        before: of the page before: when its last one was changed, and its id.

    Returns:
        One task more than `limit` where there are more, and how many there are on all pages.
    """
    rows = found = PeerTask.objects.filter(**wanted)
    if before:
        at, _, number = before.partition(" ")
        earlier = Q(changed_at__lt=float(at)) | Q(changed_at=float(at), pk__lt=number)
        rows = found.filter(earlier)
    return list(rows.order_by("-changed_at", "-pk")[: limit + 1]), int(found.count())


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
    """Let a task come into another state, and add the events of it.

    Args:
        told: what the event says beside the state.
        question: the number of what is asked now.
        artifact: what it made, told before.

    Returns:
        False where it was over already: nothing is changed then.
    """
    changes: dict[str, Any] = {"state": state, "changed_at": now}
    if question is not None:
        changes["question"] = question
    if answer:
        changes["answer"] = answer
    with transaction.atomic():
        open_ones = PeerTask.objects.filter(pk=task.pk).exclude(state__in=FINAL)
        # The database decides who is first: a look before could be out of date.
        if not open_ones.update(**changes):
            return False
        if artifact is not None:
            _add(task, ARTIFACT, artifact, now)
        _add(task, STATUS, {"state": state, **told}, now)
    task.refresh_from_db()
    return True


def say(task: PeerTask, message: Mapping[str, object]) -> None:
    """Add a message to what was said; beyond `MOST_WORDS` the oldest but the first go."""
    words = said(task)
    words.append(dict(message))
    if len(words) > MOST_WORDS:
        del words[1]
    task.words = json.dumps(words, ensure_ascii=False)
    PeerTask.objects.filter(pk=task.pk).update(words=task.words)


def said(task: PeerTask) -> list[dict[str, Any]]:
    """The messages of a task, the oldest first."""
    return list(json.loads(task.words))


def modes_of(task: PeerTask) -> list[str]:
    """The media types that whoever gave a task takes; none: all."""
    return list(said(task)[0].get("modes", ()))


# ---- what happened -----------------------------------------------------------------------------


def make(task: PeerTask, made: Mapping[str, object], now: float) -> bool:
    """Add something that a task made, or made anew: one by each id.

    Returns:
        False where the task is over, or there is no room for it.
    """
    with transaction.atomic():
        is_open = PeerTask.objects.filter(pk=task.pk).exclude(state__in=FINAL).exists()
        before = [each.data for each in PeerEvent.objects.filter(task=task.pk, kind=ARTIFACT)]
        size = sum(map(len, (*before, json.dumps(made, ensure_ascii=False))))
        if not is_open or len(before) >= MOST_MADE or size > LONGEST_MADE:
            return False
        _add(task, ARTIFACT, made, now)
        # Not before: nobody is to be told of what may still be undone.
        transaction.on_commit(lambda: tell(task.pk))
    return True


def made_of(task: str) -> list[dict[str, Any]]:
    """All that a task made: of each id what was made last, its answer at the end."""
    found: dict[str, dict[str, Any]] = {}
    for event in PeerEvent.objects.filter(task=task, kind=ARTIFACT).order_by("pk"):
        made = read(event)
        found[made["id"]] = made
    return list(found.values())


def tell(task: str) -> None:
    """Tell whoever listens that there is news of a task."""
    for listener in CHANGED:
        listener(task)


def _add(task: PeerTask, kind: str, data: Mapping[str, object], at: float) -> None:
    text = json.dumps(data, ensure_ascii=False)
    PeerEvent.objects.create(task=task.pk, kind=kind, data=text, at=at)


def events(task: str, after: int) -> list[PeerEvent]:
    """The events of a task since the event of that number, in order."""
    return list(PeerEvent.objects.filter(task=task, pk__gt=after).order_by("pk"))


def read(event: PeerEvent) -> dict[str, Any]:
    """The content of an event."""
    return dict(json.loads(event.data))


def last_event(task: str, **where: object) -> PeerEvent | None:
    """The last thing that happened to a task, of all or of those."""
    found = PeerEvent.objects.filter(task=task, **where)
    event: PeerEvent | None = found.order_by("-pk").first()
    return event


# ---- who is told -------------------------------------------------------------------------------


class DueHook(NamedTuple):
    """An address that something is to be told to: about which task, and what comes next."""

    hook: PeerHook
    task: PeerTask
    event: PeerEvent


def put_hook(hook: PeerHook, since: PeerEvent | None) -> None:
    """Keep an address, in the place of one of the same name.

    Args:
        since: the event of the task after which it is told; None: of all.
    """
    if since is not None:
        hook.sent = since.pk
        hook.next_at = NEVER if _is_end(since) else 0.0
    with transaction.atomic():
        PeerHook.objects.filter(task=hook.task, key=hook.key).delete()
        hook.save(force_insert=True)


def hooks(task: str) -> list[PeerHook]:
    """The addresses that are told of a task."""
    return list(PeerHook.objects.filter(task=task).order_by("pk"))


def remove_hook(task: str, key: str) -> int:
    """Take an address out. Returns how many there were."""
    return int(PeerHook.objects.filter(task=task, key=key).delete()[0])


def due_hooks(
    now: float, most: int, most_of_one: int, *, busy: Collection[int], full: Collection[int]
) -> list[DueHook]:
    """The addresses that something is to be told to now, those that wait for longest first.

    Args:
        most, most_of_one: as many at most, of all accounts and of one.
        busy: numbers of addresses that are being told something.
        full: accounts of which nobody is told anything more now.
    """
    later = PeerEvent.objects.filter(task=OuterRef("task"), pk__gt=OuterRef("sent")).order_by("pk")
    whose = PeerTask.objects.filter(pk=OuterRef("task")).values("account")
    waiting = PeerHook.objects.filter(next_at__lte=now).exclude(pk__in=list(busy))
    found = waiting.annotate(
        following=Subquery(later.values("pk")[:1]), account=Subquery(whose[:1])
    )
    found = found.filter(following__isnull=False, account__isnull=False)
    found = found.exclude(account__in=list(full))
    in_turn = Window(RowNumber(), partition_by=[F("account")], order_by=["next_at", "pk"])
    found = found.annotate(place=in_turn).filter(place__lte=most_of_one)
    hooks = list(found.order_by("next_at", "pk")[:most])
    tasks = PeerTask.objects.in_bulk({hook.task for hook in hooks})
    events = PeerEvent.objects.in_bulk({hook.following for hook in hooks})
    return [DueHook(hook, tasks[hook.task], events[hook.following]) for hook in hooks]


def note_sent(hook: int, event: int) -> None:
    """An address was told of an event, or never will be; after the last there is no next one."""
    told = PeerEvent.objects.filter(pk=event).first()
    next_at = NEVER if told is not None and _is_end(told) else 0.0
    # Never backwards, so that an address is not told the same twice.
    PeerHook.objects.filter(pk=hook, sent__lt=event).update(sent=event, tries=0, next_at=next_at)


def _is_end(event: PeerEvent) -> bool:
    return event.kind == STATUS and read(event).get("state") in FINAL


def note_failure(hook: int, why: str, next_at: float) -> None:
    """An address could not be told; it is tried again then."""
    changes = {"problem": why, "next_at": next_at, "tries": F("tries") + 1}
    PeerHook.objects.filter(pk=hook).update(**changes)


def note_problem(hook: int, why: str) -> None:
    """An address is not told of something, for good."""
    PeerHook.objects.filter(pk=hook).update(problem=why)


# ---- how it goes -------------------------------------------------------------------------------


def forget(assistant: int, person: str, name: PersonNames) -> None:
    """Take out all that a person asked an assistant, and their name in what others asked."""
    account = person.removeprefix(ACCOUNT)
    mine = PeerTask.objects.filter(assistant=assistant)
    if account.isdecimal():
        _remove(list(mine.filter(account=int(account)).values_list("pk", flat=True)))
    for task in mine:
        mine.filter(pk=task.pk).update(
            words=_hidden(task.words, name), answer=name.hidden(task.answer)
        )
        for event in PeerEvent.objects.filter(task=task.pk):
            PeerEvent.objects.filter(pk=event.pk).update(data=_hidden(event.data, name))


def _hidden(data: str, name: PersonNames) -> str:
    """JSON that names nobody of these names; of mappings only the values are words."""

    def hide(value: object) -> object:
        if isinstance(value, str):
            return name.hidden(value)
        if isinstance(value, dict):
            return {key: hide(each) for key, each in value.items()}
        return [hide(each) for each in value] if isinstance(value, list) else value

    return json.dumps(hide(json.loads(data)), ensure_ascii=False)


def remove_all(assistant: int) -> None:
    """Take out all that an assistant was asked."""
    _remove(list(PeerTask.objects.filter(assistant=assistant).values_list("pk", flat=True)))


def _remove(tasks: Iterable[str]) -> None:
    numbers = list(tasks)
    for table in (PeerEvent, PeerHook):
        table.objects.filter(task__in=numbers).delete()
    PeerTask.objects.filter(pk__in=numbers).delete()
