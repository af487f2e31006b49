"""Hearing one message: it is judged, and then queued, remembered, captured or ignored.

Each step is traced, so that `assistant why` can explain it. The database is not touched unless a
message is queued.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from evennia_ai.agent import answerers
from evennia_ai.agent.admission import end_or_extend, overhear, place_of, tell_of_mute
from evennia_ai.agent.ear_settings import ear_for
from evennia_ai.core.hearing.calling import is_for_another, without_longer_names
from evennia_ai.core.hearing.decision_traces import DecisionTrace
from evennia_ai.core.hearing.inbox import talk_of
from evennia_ai.core.hearing.perception import (
    CHANNEL,
    CONTEXT,
    IGNORE,
    OPEN_SPEECH,
    POSE,
    PRIVATE,
    STRANGER,
    SYSTEM,
    TRIGGER,
    Ear,
    Heard,
    Standing,
    Verdict,
)
from evennia_ai.core.hearing.rules import classify, is_unsure
from evennia_ai.core.hearing.unmarked import is_echo
from evennia_ai.core.typed_objects import Channel, GameObject
from evennia_ai.messages import incoming
from evennia_ai.runtime import names
from evennia_ai.runtime.assistant import Assistant, Character
from evennia_ai.runtime.rights import meets, meets_any

MOST_CAPTURED = 200  # lines of a command's output that a tool reads


def hear(
    body: Character, text: object, from_obj: object, kwargs: Mapping[str, object] | None = None
) -> Verdict | None:
    """Hear a message that was sent to an assistant's body."""
    script, heard = body.assistant_script, incoming.read(text, from_obj, body, kwargs)
    if heard is None or (script.work.calls_of_game and _is_known(script, heard)):
        return None
    return handle_message(script, heard, from_obj)


def _is_known(script: Assistant, heard: Heard) -> bool:
    """True where game code has already reported this message with `evennia_ai.hear`."""
    work = script.work
    # While a tool captures output, every line belongs to that output.
    return work.capture is None and is_echo(work.calls_of_game, heard, script.clock.seconds())


def hear_channel(
    script: Assistant, message: str, channel: Channel, senders: object, kwargs: Mapping[str, object]
) -> Verdict | None:
    """Hear a message on a channel that the body is subscribed to."""
    heard = incoming.read_channel(message, channel, senders, kwargs, script.obj)
    return handle_message(script, heard, senders) if heard is not None else None


def handle_message(script: Assistant, heard: Heard, from_obj: object = None) -> Verdict | None:
    """Judge one message and act on the verdict.

    Returns:
        The verdict; None for a message meant only for the player who puppets the body.
    """
    work = script.work
    # A player puppets the body: output of commands that they type is for them.
    if heard.source is SYSTEM and work.capture is None and script.obj.sessions.count():
        return None
    heard, verdict = judge(script, heard, from_obj)
    # Not even traced: its own words would push those of others out of the bounded trace.
    if verdict.name == "own_speech":
        return verdict
    record = work.decisions.add(script.clock.seconds(), heard, verdict)
    if verdict.name == "muted" and heard.source in PRIVATE:
        tell_of_mute(script, record, heard)
    if verdict.outcome is not IGNORE:
        _act(script, record, heard)
    return verdict


def judge(script: Assistant, heard: Heard, from_obj: object = None) -> tuple[Heard, Verdict]:
    """Judge a message now; a conversation that the message ends is over.

    Returns:
        The message, marked where it is aimed at somebody else, and the verdict.
    """
    work = script.work
    ear = ear_for(script, from_obj)
    # Most lines in a busy room need none of this, and are judged without looking at the sender.
    if work.muted or work.conversations.by_place or ear.judges_rights:
        heard, sender = _resolve_sender(script, heard, ear, from_obj)
    else:
        known = work.senders.people.get(heard.person)
        sender = STRANGER if known is None else known.standing()
        if heard.source is CHANNEL or ear.room_messages is not IGNORE:
            heard = _aimed(script, heard, ear)
    verdict = classify(heard, ear, sender)
    if verdict.name != "direct_address":
        return heard, verdict
    # A name at the end of a line counts only if nobody else is called more strongly, and a name
    # within somebody's longer name does not count. Only such a line is worth a look through the
    # room.
    own = _without_longer_names(script, heard, ear)
    if own is not heard or is_unsure(heard, ear):
        heard = _aimed(script, heard, ear)
        own = replace(own, is_for_another=heard.is_for_another)
        verdict = classify(own, ear, sender)
    return heard, verdict


# ---- what the rules need to know ---------------------------------------------------------------


def _resolve_sender(
    script: Assistant, heard: Heard, ear: Ear, from_obj: object
) -> tuple[Heard, Standing]:
    """The sender's standing, and the message, marked where it is aimed at somebody else."""
    work = script.work
    known = work.senders.people.get(heard.person)
    is_muted = heard.person in work.muted
    may_go_on = not (heard.from_assistant or is_muted)
    is_engaged = may_go_on and _is_engaged(script, heard, ear)
    standing = STRANGER if known is None else known.standing()
    if is_engaged or is_muted:
        standing = replace(standing, is_engaged=is_engaged, is_muted=is_muted)
    if heard.person and ear.judges_rights:
        standing = _with_rights(standing, incoming.sender_of(from_obj), ear, script.obj)
    # Only now: finding out looks through the room, and matters only if the message may trigger.
    if (
        standing.is_engaged
        or standing.is_permitted
        or heard.source is CHANNEL
        or ear.room_messages is not IGNORE
    ):
        heard = _aimed(script, heard, ear)
        if is_engaged and heard.is_for_another:
            work.conversations.end(talk_of(heard.source, place_of(script, heard)))
    return heard, standing


def _with_rights(standing: Standing, sender: GameObject, ear: Ear, body: Character) -> Standing:
    if sender is None:
        return standing
    trusts = (trust for condition, trust in ear.trust_overrides if meets(sender, condition, body))
    override = next(trusts, None)
    is_permitted = meets_any(sender, ear.trigger_permissions, body)
    return replace(standing, is_permitted=is_permitted, trust_override=override)


def _is_engaged(script: Assistant, heard: Heard, ear: Ear) -> bool:
    """True where the sender continues a conversation; speech of anybody else ends it."""
    conversations = script.work.conversations
    is_speech = heard.source in OPEN_SPEECH
    if not conversations.by_place or not is_speech or heard.sender_id == ear.id:
        return False
    talk = talk_of(heard.source, place_of(script, heard))
    return bool(conversations.goes_on(talk, heard.face, script.clock.seconds()))


def _aimed(script: Assistant, heard: Heard, ear: Ear) -> Heard:
    """The message, marked where it is aimed at somebody else who is present."""
    # On a channel everybody listens, so the names of those in the room say nothing.
    others = () if heard.source is CHANNEL else _names_of_others(script.obj, heard)
    is_pose = heard.source is POSE
    if not is_for_another(heard.body, ear.names, others, is_pose=is_pose):
        return heard
    return replace(heard, is_for_another=True)


def _without_longer_names(script: Assistant, heard: Heard, ear: Ear) -> Heard:
    """The message without longer names of others that contain one of its own: Ada, Ada Smith."""
    if heard.source is CHANNEL:
        return heard
    body = without_longer_names(heard.body, ear.names, _names_of_others(script.obj, heard))
    return heard if body == heard.body else replace(heard, body=body)


def _names_of_others(body: Character, heard: Heard) -> Iterator[str]:
    """Names of everybody else in the room, as the speaker or the assistant sees them."""
    # A generator, so that names are looked up only for a message that calls one.
    for being in body.location.contents if body.location is not None else ():
        # A pose usually contains the name of the one who poses.
        is_posing = heard.source is POSE and being.dbref == heard.sender_id
        if being is not body and not is_posing and names.is_character(being):
            yield from names.called(being, body)
            if not names.is_alike_for_all(being):
                # With masks the speaker may use a name that the assistant never saw.
                yield from names.called(being, incoming.find_being(heard.sender_id))


# ---- what becomes of it ------------------------------------------------------------------------


def _act(script: Assistant, record: DecisionTrace, heard: Heard) -> None:
    outcome, capture = record.verdict.outcome, script.work.capture
    if outcome is TRIGGER:
        answerers.answer(script, record, heard)
    elif record.verdict.name == "hop_limit":
        end_or_extend(script, record, heard)
    elif outcome is CONTEXT:
        overhear(script, record, heard)
    elif capture is not None and len(capture) < MOST_CAPTURED:
        capture.append(heard.body)
