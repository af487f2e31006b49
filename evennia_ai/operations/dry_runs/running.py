"""Dry runs: try a message on an assistant before anybody says it.

The message is judged, prepared and answered like a real one, by the real model, but nobody hears
the answer, no tool changes anything and nothing is remembered. A second side may run the same
message with another text in the prompt, another model, or the settings of an earlier moment.

The prompt holds the private words of the message's speaker. Without `reveal`, which is recorded,
speaking as another person means speaking as a stranger of that name, of whom nothing is known.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, cast

from evennia.comms.models import ChannelDB
from twisted.internet.defer import CancelledError, Deferred, succeed
from twisted.internet.defer import TimeoutError as DeadlineError
from twisted.python.failure import Failure

from evennia_ai import audit
from evennia_ai.agent import admission, hearing, warming
from evennia_ai.agent.queueing import cooling_seconds
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.budget import ledger
from evennia_ai.core.hearing.decision_traces import DecisionTrace
from evennia_ai.core.hearing.inbox import Event
from evennia_ai.core.hearing.perception import TRIGGER, Heard
from evennia_ai.core.memory.recollection import person_audience
from evennia_ai.core.text.words import number
from evennia_ai.core.typed_objects import Being
from evennia_ai.errors import ConfigurationError, StaleEpochError
from evennia_ai.messages import incoming
from evennia_ai.operations.conversation.hearing import LINES, heard_as, obstacle
from evennia_ai.operations.dry_runs import turn
from evennia_ai.operations.dry_runs.changes import Changes, Variant, changes_of
from evennia_ai.operations.dry_runs.results import DrySide, heard_row, side_of
from evennia_ai.operations.dry_runs.speakers import Speaker, speaker_of
from evennia_ai.operations.result import Result
from evennia_ai.operations.rights.acts import refusal
from evennia_ai.operations.rights.private_words import PrivateView
from evennia_ai.operations.settings.changing import signed
from evennia_ai.runtime import signals, state
from evennia_ai.runtime.assistant import Assistant

LONGEST_MESSAGE = 4_000  # characters
LONGEST_SECONDS = 50.0  # for all sides together; a web page waits for the answer
MOST_AT_ONCE = 2  # in the whole game, since each is a turn of a model beside those of players
# No account has the number 0, so nothing is known of this person and nothing is private to them.
STRANGER = "*#0"
CHANNEL = "channel "
NOW = "as it is now"
OF_PAST = (
    "Only its own settings and prompt are from that moment. Its memories, lore and goals, the "
    "game's settings, the tools and the world are as they are now, and it knows nothing of the "
    "conversation."
)
_running: set[Deferred[Any]] = set()


@dataclass(frozen=True, slots=True)
class Trial:
    """A message to be tried.

    Attributes:
        words: its text.
        way: "say", "whisper", "page", "pose", or "channel " and the channel's name.
        person: name of the speaker; "": the person who tries it.
    """

    words: str
    way: str = "whisper"
    person: str = ""


@dataclass(frozen=True, slots=True)
class DryRun:
    """The outcome of a dry run.

    Attributes:
        person: the speaker's name as the assistant sees it.
        is_stranger: the prompt held nothing that is private to that person.
        notes: warnings about what could not be restored from an earlier moment.
        sides: the assistant as it is now and, where asked for, with changes.
    """

    person: str
    way: str
    is_stranger: bool
    notes: tuple[str, ...] = ()
    sides: tuple[DrySide, ...] = ()


def ways(script: AssistantScript) -> list[str]:
    """The ways by which a message can reach an assistant."""
    body = script.obj
    channels = ChannelDB.objects.get_subscriptions(body) if body is not None else ()
    return ["whisper", "say", "page", "pose", *sorted(f"{CHANNEL}{each.key}" for each in channels)]


def try_message(
    script: AssistantScript,
    visitor: Being,
    trial: Trial,
    variant: Variant | None = None,
    *,
    look: PrivateView | None = None,
    seconds: float = LONGEST_SECONDS,
) -> Deferred[Result[DryRun]]:
    """Try a message on an assistant and, where a variant is given, also with its changes.

    Refused without the rights to control the assistant and to see its prompts; a changed text or
    model also needs the right to configure it, an earlier moment the right to its audit log.

    Args:
        visitor: the person who tries it.
        variant: changes of the second side; None: there is no second side.
        look: says if the speaker's private words are to be revealed; None: they are not.
        seconds: time limit, at most LONGEST_SECONDS.
    """
    look = look or PrivateView(incoming.person_of(visitor), by=str(visitor.key))
    variant = variant or Variant()
    if refused := _refused(script, visitor, variant, look):
        return succeed(refused)
    prepared = _prepare(script, visitor, trial, variant, look)
    if isinstance(prepared, Result):
        return succeed(prepared)
    speaker, plans = prepared
    _record(script, trial, speaker, plans, look)
    # Costs are charged to the scope `bench`: no player and no assistant pays for a dry run.
    with ledger.bench():
        running = Deferred.fromCoroutine(_run(script, trial, speaker, plans, seconds))
    if not running.called:
        _register(script, running)
    return running.addErrback(_cut_off, script)


def _refused(
    script: AssistantScript, visitor: Being, variant: Variant, look: PrivateView
) -> Result[Any] | None:
    # The outcome shows the prompt, so each of its parts needs the right that it needs elsewhere.
    acts = ["try messages"]
    acts += ["show memories", "reveal"] if look.is_revealing else []
    acts += ["audit"] if variant.moment.strip() else []
    acts += ["configure"] if variant.model.strip() or variant.part else []
    refusals = (refusal(act, visitor, script) for act in acts)
    return next((each for each in refusals if each is not None), None)


def _register(script: AssistantScript, running: Deferred[object]) -> None:
    # In `work.beside`, where an emergency stop of the assistant finds and cancels it.
    beside = script.work.beside
    for waiting in (beside, _running):
        waiting.add(running)

    def end(outcome: object) -> Any:
        for waiting in (beside, _running):
            waiting.discard(running)
        return outcome

    running.addBoth(end)


def _cut_off(failure: Failure, script: AssistantScript) -> Result[DryRun]:
    failure.trap(CancelledError)
    return Result.conflict(f"{script.key} was stopped meanwhile, and so was this.")


def _prepare(
    script: AssistantScript, visitor: Being, trial: Trial, variant: Variant, look: PrivateView
) -> Result[Any] | tuple[Speaker, list[tuple[str, Changes]]]:
    if problem := _problem(script, trial):
        return problem
    result = speaker_of(script, visitor, trial.person, look)
    if not result.ok:
        return result
    speaker = result.data
    if _heard(script, trial, speaker.being) is None:
        return Result.invalid("There are no words in that, so nobody would hear anything.")
    changed = changes_of(script, variant)
    if not changed.ok:
        return changed
    plans = [(NOW, Changes())]
    if changed.data.description:
        plans.append((f"with {changed.data.description}", changed.data))
    return speaker, plans


def _problem(script: AssistantScript, trial: Trial) -> Result[Any] | None:
    name, size = script.key, len(trial.words)
    if script.work is None or script.obj is None:
        return Result.conflict(f"{name} is not running, or has no body; nothing can be tried.")
    if state.is_stopped(script):
        return Result.conflict(
            f"{name} is stopped: nothing is sent to its model, not even from here. Clear the "
            "stop first."
        )
    if not trial.words.strip():
        return Result.invalid("There is nothing to try: type what would be said.")
    if size > LONGEST_MESSAGE:
        return Result.invalid(
            f"That is {number(size)} characters; up to {number(LONGEST_MESSAGE)} can be tried."
        )
    if trial.way not in ways(script):
        return Result.invalid(f"{trial.way!r} is not a way; there are {', '.join(ways(script))}.")
    if len(_running) >= MOST_AT_ONCE:
        return Result.unavailable(
            f"{MOST_AT_ONCE} messages are already being tried; try again when one has ended."
        )
    return None


def _record(
    script: AssistantScript,
    trial: Trial,
    speaker: Speaker,
    plans: list[tuple[str, Changes]],
    look: PrivateView,
) -> None:
    # Before the run: whatever becomes of it, the prompt may have shown private words.
    beside = ", ".join(title for title, _ in plans[1:]) or "nothing"
    with signed(look.by):
        audit.record("message_tried", script, person=speaker.name, way=trial.way, beside=beside)
    if speaker.is_known and speaker.person != look.person:
        look.may_see(person_audience(speaker.person))
        look.note(script, "a message that is tried")


async def _run(
    script: AssistantScript,
    trial: Trial,
    speaker: Speaker,
    plans: list[tuple[str, Changes]],
    seconds: float,
) -> Result[DryRun]:
    warming.give_way()
    sides, part = [], min(seconds, LONGEST_SECONDS) / len(plans)
    for title, changes in plans:
        stand_in = cast(Assistant, changes.stand_in(script))
        sides.append(await _side(script, stand_in, trial, speaker, title, part))
    message = f"{script.key} was tried with a message by {trial.way}, as {speaker.name}."
    notes = tuple(note for _, changes in plans for note in _notes(changes))
    data = DryRun(speaker.name, trial.way, not speaker.is_known, notes, tuple(sides))
    return Result(True, message, data)


def _notes(changes: Changes) -> Iterator[str]:
    if changes.is_of_past:
        yield OF_PAST
    if changes.missing:
        missing = ", ".join(changes.missing)
        yield f"The audit log does not have all of {missing}; the current value is used."


async def _side(
    script: AssistantScript,
    stand_in: Assistant,
    trial: Trial,
    speaker: Speaker,
    title: str,
    seconds: float,
) -> DrySide:
    heard = _heard(stand_in, trial, speaker.being)
    assert heard is not None  # the same words were heard before anything was begun
    heard = replace(heard, person=speaker.person)
    heard, verdict = hearing.judge(stand_in, heard, speaker.being)
    record = stand_in.work.decisions.add(stand_in.clock.seconds(), heard, verdict)
    if verdict.outcome is not TRIGGER:
        return DrySide(title, heard_row(record), False, "it would not answer that")
    _note_obstacles(stand_in, record)
    dry = turn.begin(stand_in, _event(stand_in, record, speaker))
    ending = ""
    running = Deferred.fromCoroutine(turn.run(dry, script, stand_in, speaker.is_named))
    try:
        await running.addTimeout(seconds, script.clock)
    except DeadlineError:
        ending = f"it was cut off after {seconds:g} seconds, the longest that a trial may take"
    # An emergency stop ends the whole dry run, not only this side.
    except CancelledError:
        raise
    except (ConfigurationError, StaleEpochError) as error:
        ending = str(error)
    except Exception as error:  # the steps before the failure are shown all the same
        signals.log_fault(f"{script.key}: a trial failed, {type(error).__name__}", error)
        ending = f"something failed inside the game ({type(error).__name__}); its log has more"
    return side_of(title, stand_in, record, dry, ending)


def _heard(script: Assistant, trial: Trial, being: Being) -> Heard | None:
    if trial.way in LINES:
        return heard_as(script, being, trial.words, trial.way)
    subscribed = ChannelDB.objects.get_subscriptions(script.obj)
    key = trial.way.removeprefix(CHANNEL)
    channel = next(each for each in subscribed if each.key == key)
    return incoming.read_channel(trial.words, channel, being, {}, script.obj)


def _event(stand_in: Assistant, record: DecisionTrace, speaker: Speaker) -> Event:
    event = admission.event_of(stand_in, record, record.heard)
    if speaker.is_known:
        return event
    # A stranger keeps only the name: each other field would lead to what the person said before.
    return replace(event, person=STRANGER, sender_id="", mask="", begun_by="")


def _note_obstacles(stand_in: Assistant, record: DecisionTrace) -> None:
    # What would keep it from answering a real message is noted, and does not end the dry run.
    heard = record.heard
    if why := obstacle(stand_in):
        record.note("silent", f"a real message would not be answered now: {why}")
    if seconds := cooling_seconds(stand_in, heard.person):
        record.note("refused", f"{heard.sender_name} has to wait {number(round(seconds))} s more")
    most = state.safety_config(stand_in).size.message_characters
    if 0 < most < len(heard.body):
        detail = f"{number(len(heard.body))} characters, of {number(most)} that are read"
        record.note("limit", detail)
