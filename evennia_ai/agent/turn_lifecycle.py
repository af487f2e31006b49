"""The beginning and the end of a turn: which one is next, who is told, and what is counted."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from evennia.utils import logger

from evennia_ai.agent import cap_notices, outages, queueing, tracing, turn_consequences
from evennia_ai.agent.failure_notices import (
    UNHEARD,
    cooling_line,
    empty_queue,
    expire,
    notify_failure,
    spent_line,
    whether,
)
from evennia_ai.agent.turn_consequences import asker_name, most_errors
from evennia_ai.approvals import holding
from evennia_ai.budget import ledger
from evennia_ai.core.hearing.audience import WAYS, may_leave
from evennia_ai.core.hearing.inbox import OWN, SAVED_TURN, TASK, Stored, talk_of
from evennia_ai.core.hearing.perception import SPOKEN, Source
from evennia_ai.core.safety import notices
from evennia_ai.core.safety.cooling import Consequences
from evennia_ai.core.turn.conversation import last_act, split_private_calls
from evennia_ai.core.turn.react import Stop, StopReason
from evennia_ai.core.turn.turn import Turn
from evennia_ai.errors import ConfigurationError, LedgerAwayError, NobodyListensError
from evennia_ai.memory import episodes
from evennia_ai.memory.consent import has_unstorable_words, is_any_unstorable
from evennia_ai.runtime import signals, state, turns
from evennia_ai.runtime.assistant import Assistant
from evennia_ai.runtime.state import ExtraWrites
from evennia_ai.runtime.turns import aside
from evennia_ai.tasks import delegations, remote_tasks, task_waits
from evennia_ai.tools import moments


def take(script: Assistant) -> Turn | float | None:
    """Take the turn that is due: of somebody who is present and need not wait.

    Returns:
        The turn; or the seconds until one is due; or None when nothing waits except for a sender to
        come back.
    """
    now, config = script.clock.seconds(), state.hearing_config(script)
    expire(script, now - config.expires_seconds)
    # A turn that a restart interrupted comes first: some of it was said already.
    if events := turns.checkpointed_events(script):
        if delegations.is_awaited(script, events[-1]):
            checkpoint = state.read(script, "current_tool_call")
            return _note_resumed(script, turns.from_checkpoint(script, checkpoint))
        aside.set_aside(script)
    # Before other messages: a person has just answered the question about this turn.
    if turn := holding.take_back(script):
        tracing.note(script, turn, "goes on", "after the question about it")
        return turn
    stored, wait = queueing.next_due(script)
    if stored is None:
        return wait
    # Counted when it begins, not when it ends: a turn that fails was a turn too.
    queueing.begin(script, stored)
    return _begin(script, stored, config.batch_messages)


def _begin(script: Assistant, stored: Stored, most: int) -> Turn:
    """Begin the turn of an event and those that join it, or resume one that was set aside."""
    if SAVED_TURN in stored:
        return _note_resumed(script, aside.resume(script, stored))
    turn = turns.load(script, stored, most)
    count = len(turn.events)
    tracing.note(script, turn, "taken", f"with {count} messages at once" if count > 1 else "")
    return turn


def _note_resumed(script: Assistant, turn: Turn) -> Turn:
    tracing.note(script, turn, "taken up again", f"after {turn.iterations} steps")
    return turn


def close(script: Assistant, turn: Turn, stop: Stop) -> None:
    """Close a turn: count it, store its end, tell the sender, and lock after too many errors."""
    work = script.work
    work.extensions.end(turn.scope)
    remote_tasks.give_up_all(script, turn.scope)
    # Stopped or reset while it ended: whoever voided it has settled its events.
    if turn.epoch != work.epoch:
        _cut_off(script, turn, "it was void before its end")
        return
    work.in_flight = None
    # Judged before it is stored, so that errors, cooling and the turn's end are one write.
    judged, also = turn_consequences.judge(script, turn, stop)
    # Asked at the end: a person may have withdrawn consent while the model thought.
    turn.is_unkept = has_unstorable_words(script, turn)
    turn.is_overheard_unkept = turn.is_unkept and not is_any_unstorable(script, turn)
    answer = episodes.answers_of(turn)
    remembered = episodes.of_turn(script, turn, stop, answer)
    traced = tracing.of_turn(script, turn, stop, answer)
    # The ledger's entries for the paid calls ride along: one commit a turn instead of two.
    with ledger.store().joining_transaction() as ledger_write:
        writes, errors = _all_of(remembered.write, traced, ledger_write), judged.errors
        turns.settle(script, turn, stop, consecutive_errors=errors, extra_writes=writes, **also)
    # After the commit, since a memory that was rolled back must get no vector.
    remembered.index()
    tracing.tidy(script)
    for notice in turn.notices:
        tracing.note(script, turn, "went another way", notice)
    if turn.event.kind == OWN:
        work.autonomy.end(did_something=not stop.is_failure and stop.reason is not StopReason.NOOP)
    if turn.iterations and not stop.trouble:
        outages.on_model_answered(script)
    if stop.is_failure:
        _report(script, turn, stop, judged)
    else:
        _note_answer(script, turn, stop)
    # After the sender of this turn was told, so that nobody is told twice.
    empty_queue(script, turn, stop)
    # Last: a lockout rejects everything that waits, and this turn has to be closed by then.
    turn_consequences.apply(script, turn, stop, judged)


def _all_of(*writes: ExtraWrites | None) -> ExtraWrites | None:
    """Combine some writes into one, in this order; None if there are none."""
    actual_writes = [write for write in writes if write is not None]

    def write() -> None:
        for each in actual_writes:
            each()

    return write if actual_writes else None


def fail(script: Assistant, turn: Turn, error: Exception) -> None:
    """Close a turn that raised an error."""
    if turn.is_settled:  # it must not end twice: only what follows its end failed
        if isinstance(error, outages.DATABASE_ERRORS):
            raise error
        signals.log_fault(f"{script.key}: after a turn, {type(error).__name__}", error)
        return
    if isinstance(error, ConfigurationError):
        # An unreachable ledger passes by itself, so it must not lock the assistant.
        lasts = not isinstance(error, LedgerAwayError)
        trouble = "" if lasts else LedgerAwayError.trouble
        stop = Stop(
            StopReason.WRONG_SETTING if lasts else StopReason.LLM_ERROR,
            str(error),
            is_counted=lasts,
            is_of_service=True,
            may_lock=lasts,
            trouble=trouble,
        )
        close(script, turn, stop)
        return
    if isinstance(error, outages.DATABASE_ERRORS):
        # It passes, and no player's words caused it, so it must not lock the assistant either.
        description = outages.describe_error(error)
        stop = Stop(
            StopReason.GAME_ERROR, description, is_counted=False, is_of_service=True, may_lock=False
        )
        try:
            close(script, turn, stop)
        except outages.DATABASE_ERRORS:
            tracing.note(script, turn, "cut off", "its end could not be stored")
            # Who has an answer already must not be told that none will come.
            if not turn.effects:
                notify_failure(script, turn.event)
            raise
        return
    description = repr(error)
    if may_leave(WAYS["log"], turn.kept_audiences).is_allowed:
        logger.log_trace(f"[assistant] {script.key}: the tick failed")
    else:  # without the error's text, which may quote words of a private turn
        description = type(error).__name__
        signals.log_fault(f"{script.key}: the tick failed, {description}", error)
    close(script, turn, Stop(StopReason.GAME_ERROR, f"internal error: {description}"))


def break_off(script: Assistant, turn: Turn, why: str, error: BaseException | None = None) -> None:
    """End a turn that was dropped; what it used is counted.

    Args:
        error: what ended it. After a NobodyListensError, meaning that nobody can hear the answer,
            its events go back to waiting unless their moment has passed for good.
    """
    work, name = script.work, asker_name(turn)
    work.extensions.end(turn.scope)
    remote_tasks.give_up_all(script, turn.scope)
    # A void turn was settled by whoever voided it; its events must not wait again.
    if not isinstance(error, NobodyListensError) or turn.epoch != work.epoch:
        _cut_off(script, turn, why)
        return
    work.in_flight = None
    # Where later is too late, a sender who comes back must not get a stale answer.
    is_over = error.is_over or moments.is_dropped(script, turn.event)
    if aside.break_off(script, turn, is_over=is_over):
        then = "it waits for them to come back"
    else:
        task_waits.fail(turn.event, UNHEARD)
        then = "it was dropped" if is_over else "it was given up"
    tracing.note(script, turn, "broke off", f"{name} had left; nobody was told, and {then}")
    logger.log_info(
        f"[assistant] {script.key}: {name} had left before the answer; nobody was told, and {then}"
    )


def _cut_off(script: Assistant, turn: Turn, why: str) -> None:
    turns.cut_off(script, turn)
    tracing.note(script, turn, "cut off", why)
    tracing.keep_stopped(script, turn)


def _note_answer(script: Assistant, turn: Turn, stop: Stop) -> None:
    work = script.work
    is_silent = stop.reason is StopReason.NOOP
    tracing.note(script, turn, "silent by choice" if is_silent else "answered", _last_act(turn))
    if stop.limit is not None:
        facts = str(script.obj.key), turn.event.sender_name, stop.limit, stop.detail
        cap_notices.tell(script, stop.limit, partial(notices.reached, *facts))
    if turn.event.kind == TASK:
        task_waits.end(turn.event, "" if is_silent else _last_act(turn), held=turn.held)
        return
    if turn.event.person:
        work.senders.meet(turn.event.person).count_answers(len(turn.events))
    _engage(script, turn, stop)


def pause(script: Assistant, turn: Turn, stop: Stop) -> None:
    """Let the next beat take the next step, where an assistant may do one thing per beat.

    A turn of its own ends with the step: its next turn reads in the conversation what came of it.
    """
    if turn.event.kind == OWN:  # not in the inbox, from which the next beat would take it
        close(script, turn, replace(stop, is_told=True))
        return
    script.work.in_flight = None
    turns.pause(script, turn, stop)
    tracing.note(script, turn, "goes on with the next beat", _last_act(turn))


def _last_act(turn: Turn) -> str:
    """The last thing it did, without words that it told somebody else alone."""
    face = turn.event.face
    return last_act(split_private_calls(turn.said, turn.asides, face), face)


def _engage(script: Assistant, turn: Turn, stop: Stop) -> None:
    """After an open answer, its asker need not repeat the name for a while."""
    event, config = turn.event, state.hearing_config(script)
    is_open = event.source == Source.CHANNEL or event.source in SPOKEN
    if is_open and event.hops == 0 and stop.reason is StopReason.TERMINAL_TOOL:
        now, seconds = script.clock.seconds(), config.engagement_seconds
        script.work.conversations.begin(
            talk_of(event.source, event.place), event.face, now, seconds
        )


def _report(script: Assistant, turn: Turn, stop: Stop, judged: Consequences) -> None:
    now = script.clock.seconds()
    line = cooling_line(judged.cools) if judged.cools else spent_line(stop, now)
    is_told = notify_failure(script, turn.event, _why(stop), line=line)
    ending = "was waiting" if turn.event.kind == OWN else whether(is_told)
    tracing.note(script, turn, f"failed: {stop.reason.value}", f"{stop.detail}; {ending}")
    if stop.trouble:
        outages.on_model_failed(script, stop, f"{asker_name(turn)} {ending}")
        return
    errors, limit = judged.errors, most_errors(script)
    # What locks nobody must not be told as one more step on the way to it.
    counts = errors and stop.is_counted and stop.may_lock
    counted = f"{errors} of {limit} errors in a row" if counts else "it locks nobody"
    detail = f"{stop.reason.value}, {stop.detail} ({counted})"
    whom, errors_left = turn.event.sender_name, limit - errors if counts else None
    facts = str(script.obj.key), whom, ending, stop, errors_left, detail
    cap_notices.tell(script, stop.limit, partial(notices.failed, *facts))


def _why(stop: Stop) -> str:
    """The reason there is no report, as far as another assistant may know it."""
    return f"limit {stop.limit.kind}" if stop.limit else stop.reason.text
