"""The table of rules that decide what a message means to the listener.

Everything that decides whether an assistant answers is here. Rules are tried in the order of
`RULES`, and the first that applies wins. To add one, write a small function, a row in the table,
and a row in its test.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from evennia_ai.core.hearing.calling import NameCall, call_of, is_named, mention_of, newest_folded
from evennia_ai.core.hearing.perception import (
    CALLING,
    CHANNEL,
    CONTEXT,
    IGNORE,
    OPEN_SPEECH,
    POSE,
    PRIVATE,
    SPOKEN,
    STRANGER,
    SYSTEM,
    TRIGGER,
    UNSPOKEN,
    Ear,
    Evidence,
    Heard,
    Outcome,
    Source,
    Standing,
    Verdict,
)
from evennia_ai.core.hearing.trust import weigh

Applies = Callable[[Heard, Ear, Standing], bool]
Setting = Callable[[Heard, Ear], Outcome]


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """A row of the table: if `applies` holds, `outcome` is the result, fixed or computed.

    The other attributes only save futile calls; a rule without them is tried on every message.

    Attributes:
        needs: the one of `Ear.switches` that has to be on, or "".
        is_about_assistants: whether it applies only to messages made by assistants.
    """

    number: int
    name: str
    applies: Applies
    outcome: Outcome | Setting
    sources: frozenset[Source] = frozenset(Source)
    needs: str = ""
    is_about_assistants: bool = False

    @property
    def text(self) -> str:
        """The condition in words for people: docstrings of the conditions are shown to players."""
        return str(self.applies.__doc__)


def _may_hop(heard: Heard, ear: Ear) -> bool:
    return not heard.from_assistant or not _is_at_last_hop(heard, ear)


def _is_at_last_hop(heard: Heard, ear: Ear) -> bool:
    cap = ear.max_agent_hops
    return cap > 0 and heard.hops >= cap + heard.hops_granted


def _is_disabled(heard: Heard, ear: Ear, sender: Standing) -> bool:
    """`interaction_enabled` is off."""
    return not ear.interaction_enabled


def _is_muted(heard: Heard, ear: Ear, sender: Standing) -> bool:
    """The sender has muted it."""
    return sender.is_muted and not _is_self(heard, ear, sender)


def _is_self(heard: Heard, ear: Ear, sender: Standing) -> bool:
    """It did this itself, or the game tells it something."""
    return heard.sender_id == ear.id or heard.source is SYSTEM


def _is_own_speech(heard: Heard, ear: Ear, sender: Standing) -> bool:
    """Its own words come back to it."""
    return heard.from_assistant and heard.sender_id == ear.id


def _is_captured(heard: Heard, ear: Ear, sender: Standing) -> bool:
    """A tool waits for the output of a command."""
    return ear.is_capturing and _is_self(heard, ear, sender)


def _is_called(heard: Heard, ear: Ear) -> bool:
    if not ear.enable_addressing:
        return False
    call = _call(heard, ear)
    return call is NameCall.FIRST or (call is NameCall.LAST and not heard.is_for_another)


def _call(heard: Heard, ear: Ear) -> NameCall:
    """The strength with which anybody calls it by @name, or a person by its bare name.

    On a channel nobody sees who else is listening, so only a whole name counts there, and no bare
    one at the end.
    """
    call = NameCall.NONE
    if "@" in heard.body and heard.source not in UNSPOKEN:
        call = mention_of(heard.body, ear.names)
    text = newest_folded(heard.body)
    # A substring test first: most lines hold none of its names, and patterns cost more.
    for name in ear.called:
        if name in text:
            if heard.source in CALLING and not heard.from_assistant:
                call = max(call, call_of(heard.body, ear.names))
            break
    return NameCall.NONE if call is NameCall.LAST and heard.source is CHANNEL else call


def is_unsure(heard: Heard, ear: Ear) -> bool:
    """True for a call that counts only if nobody else is called more strongly."""
    return _call(heard, ear) is NameCall.LAST


def _is_mention(heard: Heard, ear: Ear, sender: Standing) -> bool:
    """@name is in what is said, or a person calls the name; see `addressed_by`."""
    return _is_called(heard, ear) and _may_hop(heard, ear)


def _is_continued(heard: Heard, ear: Ear, sender: Standing) -> bool:
    """The person it last answered here goes on, and nobody else has spoken since."""
    is_on = sender.is_engaged and ear.enable_addressing and heard.source in OPEN_SPEECH
    return is_on and not (heard.from_assistant or heard.is_relayed or heard.is_for_another)


def _is_direct_message(heard: Heard, ear: Ear, sender: Standing) -> bool:
    """A whisper or a page."""
    return heard.source in PRIVATE and _may_hop(heard, ear)


def _is_last_hop(heard: Heard, ear: Ear, sender: Standing) -> bool:
    """One of these from another assistant, after `max_agent_hops` messages in a row."""
    if not heard.from_assistant or not _is_at_last_hop(heard, ear):
        return False
    return heard.source in PRIVATE or _is_called(heard, ear)


def _is_cross_talk(heard: Heard, ear: Ear, sender: Standing) -> bool:
    """Anything else from another assistant."""
    return heard.from_assistant


def _is_permitted(heard: Heard, ear: Ear, sender: Standing) -> bool:
    """The sender has one of the `trigger_permissions`."""
    is_on = sender.is_permitted and heard.source in OPEN_SPEECH
    return is_on and not (heard.is_relayed or heard.is_for_another)


def _is_configured_channel(heard: Heard, ear: Ear, sender: Standing) -> bool:
    """A channel in `channel_configs`."""
    return heard.source is CHANNEL and heard.place.casefold() in ear.channels


def _is_room_message(heard: Heard, ear: Ear, sender: Standing) -> bool:
    """Speech in the room, or somebody comes or goes; off unless `room_messages` is set."""
    in_room = heard.source in SPOKEN or heard.source is Source.MOVE
    return in_room and ear.room_messages is not IGNORE


def _is_posed_at(heard: Heard, ear: Ear, sender: Standing) -> bool:
    """A pose has the name in it, and `addressed_by` is `name`."""
    return heard.source is POSE and bool(ear.called) and is_named(heard.body, ear.names)


def _always(heard: Heard, ear: Ear, sender: Standing) -> bool:
    """Anything else."""
    return True


def _unless_for_another(mode: Outcome, heard: Heard) -> Outcome:
    may_trigger = heard.source in OPEN_SPEECH and not heard.is_for_another
    return CONTEXT if mode is TRIGGER and not may_trigger else mode


def channel_configs(heard: Heard, ear: Ear) -> Outcome:
    """As `channel_configs` says; what is aimed at somebody else does not trigger."""
    return _unless_for_another(ear.channels[heard.place.casefold()].mode, heard)


def room_messages(heard: Heard, ear: Ear) -> Outcome:
    """As `room_messages` says; comings and goings, and speech to others, do not trigger."""
    return _unless_for_another(ear.room_messages, heard)


RULES = (
    Rule(0, "interaction_disabled", _is_disabled, IGNORE, needs="is_disabled"),
    Rule(0, "muted", _is_muted, IGNORE),
    # Before command_output: its own speech is not the output of a command.
    Rule(1, "own_speech", _is_own_speech, IGNORE, is_about_assistants=True),
    Rule(1, "command_output", _is_captured, Outcome.CAPTURE, needs="is_capturing"),
    Rule(1, "self_message", _is_self, CONTEXT),
    Rule(2, "direct_address", _is_mention, TRIGGER),
    Rule(2, "continued_address", _is_continued, TRIGGER, OPEN_SPEECH),
    Rule(3, "direct_message", _is_direct_message, TRIGGER, PRIVATE),
    Rule(4, "hop_limit", _is_last_hop, CONTEXT, is_about_assistants=True),
    Rule(4, "assistant_cross_talk", _is_cross_talk, CONTEXT, is_about_assistants=True),
    Rule(5, "trigger_permission", _is_permitted, TRIGGER, OPEN_SPEECH),
    Rule(6, "channel_config", _is_configured_channel, channel_configs, needs="has_channels"),
    Rule(7, "room_message", _is_room_message, room_messages, needs="heeds_room"),
    Rule(7, "posed_at", _is_posed_at, CONTEXT, frozenset((POSE,))),
    Rule(7, "default", _always, IGNORE),
)


@lru_cache(maxsize=512)
def _candidates(switches: frozenset[str], source: Source, from_assistant: bool) -> tuple[Rule, ...]:
    """The rules, in order, that can apply to such a message and listener."""
    return tuple(
        rule
        for rule in RULES
        if source in rule.sources
        and (from_assistant or not rule.is_about_assistants)
        and (not rule.needs or rule.needs in switches)
    )


def classify(heard: Heard, ear: Ear, sender: Standing = STRANGER) -> Verdict:
    """Judge a message. The last rule always applies, so there is always a verdict."""
    askable = _candidates(ear.switches, heard.source, heard.from_assistant)
    for rule in askable:  # pragma: no branch - the last one always applies
        if rule.applies(heard, ear, sender):
            break
    outcome = rule.outcome if isinstance(rule.outcome, Outcome) else rule.outcome(heard, ear)
    is_channel = heard.source is CHANNEL
    config = ear.channels.get(heard.place.casefold()) if is_channel else None
    # Trust in an address is only given where the server, not the text, says what the message is.
    is_named = rule.name == "direct_address" and heard.evidence is not Evidence.NONE
    basis = weigh(
        heard.source.value,
        is_addressed=is_named,
        is_relayed=heard.is_relayed,
        own_trust=config.trust if config else None,
        answered=sender.answered,
        refused=sender.refused,
        override=sender.trust_override,
    )
    return Verdict(outcome, rule.number, rule.name, basis)
