"""The table of message traces: written when a turn ends; forgotten and pruned only here.

Old rows go a few at a time, with pauses in which the game goes on.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from django.conf import settings
from django.db.models import Q, QuerySet
from django.db.utils import DatabaseError
from evennia.utils import logger
from twisted.internet import reactor

from evennia_ai.core.hearing.decision_traces import DecisionTraces
from evennia_ai.core.memory.forgetting import PersonNames
from evennia_ai.core.memory.recollection import DAY_SECONDS
from evennia_ai.core.safety.lockout import Lockout
from evennia_ai.core.settings.services import TraceConfig
from evennia_ai.core.turn.react import Stop, StopReason
from evennia_ai.core.turn.trace import COLUMNS, FORGOTTEN, MessageTrace, in_columns, message_trace
from evennia_ai.core.turn.turn import Turn
from evennia_ai.errors import ConfigurationError
from evennia_ai.llm.bridge import pacer_of
from evennia_ai.memory.consent import has_unstorable_words, is_unstorable
from evennia_ai.models import TracedMessage, missing_tables, statements
from evennia_ai.runtime import state
from evennia_ai.runtime.assistant import Assistant, Clock
from evennia_ai.runtime.state import ExtraWrites

AT_ONCE, PAUSE_SECONDS = 200, 0.2  # rows deleted in one step, and the pause after it
EVERY_SECONDS = 3_600  # between two prunings of one assistant's rows
UNPRUNED = "the trace could not be pruned; later again"
MISSING = "[assistant] there is no table of the trace. Type: evennia migrate"


def trace_config() -> TraceConfig:
    """The trace settings; settings that make no sense count as: keep nothing."""
    try:
        return TraceConfig.from_settings(settings)
    # Not the defaults: a slip in a setting that limits what is kept must not keep more.
    except ConfigurationError:
        return TraceConfig(keep_days=0)


def _is_kept(config: TraceConfig) -> bool:
    return bool(config.keep_days) and _has_table()


@cache  # a table that `migrate` creates meanwhile is used after a restart
def _has_table() -> bool:
    """True where the database has the table; if not, that is logged once."""
    if missing_tables(TracedMessage):
        logger.log_err(MISSING)
        return False
    return True


def note(script: Assistant, turn: Turn, step: str, detail: str = "") -> None:
    """Add a step to the decision traces of a turn's messages."""
    is_private = turn.is_private or turn.event.face in turn.asides.values()
    numbers = [event.number for event in turn.events]
    script.work.decisions.note(numbers, step, detail, is_private=is_private)


def of_turn(script: Assistant, turn: Turn, stop: Stop, answer: str) -> ExtraWrites | None:
    """Return the writing of an ended turn's trace, for the caller's transaction.

    Args:
        turn: its `is_unkept` must be decided: whether it holds words that are not to be kept.
        answer: what its people heard.

    Returns:
        None where no trace is kept. It may be called twice, as after a rollback, and writes the
        same.
    """
    config = trace_config()
    if not _is_kept(config):
        return None
    records, ended_at = script.work.decisions, script.clock.seconds()

    def write() -> None:
        rows = [
            message_trace(
                turn,
                event,
                stop,
                records.find(event.number),
                answer=answer,
                ended=ended_at,
                keeps_private=config.private_words,
                may_keep_words=not (turn.is_unkept and is_unstorable(script, event)),
            )
            for event in turn.events
        ]
        insert(script.pk, rows)

    return write


def keep_stopped(script: Assistant, turn: Turn) -> None:
    """Write the trace of a turn that an emergency stop dropped, in a later turn of the reactor.

    Any other dropped turn leaves none: its message is answered later, or was withdrawn.
    """
    if state.is_stopped(script) and not script.work.is_closing:
        # Later, since this may be called in the middle of a stop, which stores who stopped it.
        pacer_of(reactor).call(_write_stopped, script, turn, script.work.decisions)


def _write_stopped(script: Assistant, turn: Turn, records: DecisionTraces) -> None:
    is_gone = script.pk is None or script.work is None
    if is_gone or script.work.decisions is not records:  # restarted, or a person was forgotten
        return
    lockout = Lockout.from_stored(state.read(script, "lockout"))
    who = "" if lockout is None else f"{lockout.by or 'itself'}: {lockout.reason}"
    turn.is_unkept = has_unstorable_words(script, turn)
    with _logging_database_errors("the trace of a stopped turn could not be stored"):
        if write := of_turn(script, turn, Stop(StopReason.STOPPED, who), ""):
            write()


def insert(assistant: int, rows: list[MessageTrace]) -> None:
    """Insert rows with one statement."""
    if rows:
        values = [(assistant, *in_columns(row)) for row in rows]
        statements.insert(TracedMessage, ("assistant", *COLUMNS), values)


def of(assistant: int, now: float) -> QuerySet[TracedMessage]:
    """The rows of an assistant that are not too old, pruned or not.

    Args:
        now: seconds since 1970.
    """
    config = trace_config()
    if not _is_kept(config):
        return TracedMessage.objects.none()
    since = now - config.keep_days * DAY_SECONDS
    return TracedMessage.objects.filter(assistant=assistant, at__gte=since)


# ---- forgotten ---------------------------------------------------------------------------------


def forget(assistant: int, person: str, name: PersonNames) -> None:
    """Remove a person: their words and identity, and their name in what others said.

    That somebody was answered, by which model and at what cost, stays.
    """
    for row in TracedMessage.objects.filter(assistant=assistant, person=person):
        _forget_row(row)
    condition = Q()
    for form in name.written:
        condition |= Q(words__icontains=form) | Q(answer__icontains=form)
    for row in TracedMessage.objects.filter(condition, assistant=assistant) if name.written else ():
        # The query finds parts of words as well; only whole names are hidden.
        words, answer = name.hidden(row.words), name.hidden(row.answer)
        if (words, answer) != (row.words, row.answer):
            row.words, row.answer = words, answer
            row.save(update_fields=["words", "answer"])


def _forget_row(row: TracedMessage) -> None:
    row.person = row.name = row.words = row.answer = ""
    row.facts = {**row.facts, "face": "", "why": "", "place": "", FORGOTTEN: True}
    row.facts["steps"] = [[step, ""] for step, _ in row.facts.get("steps", ())]
    row.facts["tools"] = [{**tool, "error": ""} for tool in row.facts.get("tools", ())]
    row.save(update_fields=["person", "name", "words", "answer", "facts"])


def remove_all(assistant: int) -> None:
    """Delete the whole trace of an assistant, within the caller's transaction."""
    TracedMessage.objects.filter(assistant=assistant).delete()


# ---- pruned ------------------------------------------------------------------------------------


def tidy(script: Assistant) -> None:
    """Prune a little once an hour while it is spoken to, and at each answer while more is left."""
    work, now = script.work, script.clock.seconds()
    if now < work.trace_due or not _has_table():
        return
    removed = 0
    with _logging_database_errors():
        removed = prune(script.pk, now)
    work.trace_due = now if removed >= AT_ONCE else now + EVERY_SECONDS


@contextmanager
def _logging_database_errors(problem: str = UNPRUNED) -> Iterator[None]:
    """Log what the database refuses; pruning is retried later."""
    try:
        yield
    except DatabaseError:
        logger.log_trace(f"[assistant] {problem}")


def prune_daily(clock: Clock) -> None:
    """Delete rows that are too old, in steps, now and every day."""
    removed = 0
    with _logging_database_errors():
        removed = prune(None, clock.seconds()) if _has_table() else 0
    clock.callLater(PAUSE_SECONDS if removed >= AT_ONCE else DAY_SECONDS, prune_daily, clock)


def prune(assistant: int | None, now: float) -> int:
    """Delete some rows that need not be kept: too old ones of anybody, then surplus ones.

    Returns:
        The number of rows deleted, AT_ONCE at most.
    """
    config = trace_config()
    old = TracedMessage.objects.filter(at__lt=now - config.keep_days * DAY_SECONDS)
    # By keys: a DELETE with a LIMIT is not portable, and Django refuses to delete a slice.
    keys = list(old.order_by("at").values_list("pk", flat=True)[:AT_ONCE])
    if not keys and assistant is not None:
        own = TracedMessage.objects.filter(assistant=assistant).order_by("-at", "-pk")
        first = config.keep_messages
        keys = list(own.values_list("pk", flat=True)[first : first + AT_ONCE])
    if keys:
        TracedMessage.objects.filter(pk__in=keys).delete()
    return len(keys)
