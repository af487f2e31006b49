"""Messages as perceived: the values that the rules of hearing work on.

`messages.incoming` reads a message off the wire, and `rules` decides what it means.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Self

from pydantic import TypeAdapter, WithJsonSchema

from evennia_ai.core.hearing.calling import folded_name, short_names
from evennia_ai.core.hearing.trust import Basis
from evennia_ai.core.settings.model import Part, SettingsGroup, among, setting

MAX_AGENT_HOPS = 3
# Characters stored of an overheard message.
MOST_OF_ONE = 400


class Source(StrEnum):
    """Ways by which a message reaches the listener."""

    WHISPER = "whisper"
    PAGE = "page"
    CHANNEL = "channel"
    SAY = "say"
    POSE = "pose"
    EMIT = "emit"
    MOVE = "move"
    SYSTEM = "system"


SPOKEN = frozenset((Source.SAY, Source.POSE, Source.EMIT))
PRIVATE = frozenset((Source.WHISPER, Source.PAGE))
UNSPOKEN = frozenset((Source.MOVE, Source.SYSTEM))
# Marked by the server as speech. An emit may be anything, such as a lamp being picked up.
OPEN_SPEECH = frozenset((Source.SAY, Source.POSE, Source.CHANNEL))
# Pure speech, in which a bare name at the beginning or end is a call.
CALLING = frozenset((Source.SAY, Source.CHANNEL))


class Outcome(StrEnum):
    """Treatments of a message by the listener."""

    TRIGGER = "trigger"
    CONTEXT = "context"
    CAPTURE = "capture"
    IGNORE = "ignore"


# Attribute lookup on an Enum costs as much as a rule, and these are used for every message.
CHANNEL, POSE, SYSTEM = Source.CHANNEL, Source.POSE, Source.SYSTEM
CONTEXT, IGNORE, TRIGGER = Outcome.CONTEXT, Outcome.IGNORE, Outcome.TRIGGER


class AddressedBy(StrEnum):
    """Names that address the listener: its bare name too, or only @name."""

    NAME = "name"
    AT = "at"


class Evidence(StrEnum):
    """Origins of a message's kind; nothing that a player can type is among them."""

    KWARGS = "kwargs"
    OOB = "oob"
    RECORD = "record"
    CALL = "call"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Heard:
    """A message as the listener received it.

    Attributes:
        body: the words alone, without the frame that the game put around them.
        sender_id: "#12" of the sending object, "*#3" of an account, or "" for the game itself
            (`Source.SYSTEM`) or an unknown sender.
        person: the player behind the sender ("*#3"), else the sender; limits count by this.
        mask: id of a masked sender ("#12~1a2b3c4d"), else "".
        place: the channel's name; "" elsewhere.
        from_assistant: whether an assistant made it, by a mark of the server, never by its text.
        hops: number of assistants in a row that it is an answer to.
        hops_granted: hops beyond the limit that were granted to its chain.
        chain: id of its chain, see `core.hearing.chain`; "" if it begins one.
        begun_by: the person who began the chain ("*#3") and pays for it.
        is_relayed: whether a bot passed it on from outside; the author is only text then.
    """

    body: str
    source: Source
    sender_id: str = ""
    sender_name: str = ""
    person: str = ""
    mask: str = ""
    place: str = ""
    from_assistant: bool = False
    hops: int = 0
    hops_granted: int = 0
    chain: str = ""
    begun_by: str = ""
    is_relayed: bool = False
    is_for_another: bool = False
    evidence: Evidence = Evidence.NONE

    @property
    def face(self) -> str:
        """Id by which the listener knows the sender: the mask, or else the person."""
        return self.mask or self.person


# Without CAPTURE, which only tools use.
_SETTABLE = (TRIGGER, CONTEXT, IGNORE)
Mode = Annotated[
    Outcome,
    among(_SETTABLE),
    WithJsonSchema({"type": "string", "enum": [str(each) for each in _SETTABLE]}),
]

TRUST: TypeAdapter[float] = TypeAdapter(Part)
MODE: TypeAdapter[Outcome] = TypeAdapter(Mode)
ADDRESSED_BY = TypeAdapter(AddressedBy)


class ChannelConfig(SettingsGroup):
    """Treatment of one channel, and trust in its speech."""

    mode: Mode = setting(Outcome.IGNORE, "trigger, context or ignore.")
    trust: Part | None = setting(None, "how far what is said there is believed, 0 to 1.")

    @classmethod
    def of_channel(cls, name: str, stored: object) -> Self:
        """Parse "trigger", or {"mode": "trigger", "trust": 0.5}.

        Raises:
            ConfigurationError: it is neither.
        """
        config = {"mode": stored} if isinstance(stored, str) else stored
        return cls.from_stored(config, f"channel_configs[{name!r}]")


@dataclass(frozen=True, slots=True)
class Ear:
    """The listener, as far as the rules need it.

    Attributes:
        id: "#12" of the listener; a message of that sender is its own.
        names: key and aliases, for mentions.
        addressed_by: whether people may call it by its bare name, besides @name.
        max_agent_hops: messages of assistants trigger while their hops are below this plus what was
            granted; 0 for no limit.
        is_capturing: whether a tool waits for the output of a command.
        channels: treatment of channels, by name in lower case.
        room_messages: treatment of speech in the room that addresses nobody.
        trigger_permissions: permissions and lock strings whose holders need not address it.
        trust_overrides: permissions and lock strings with the trust in their holders.
        called: bare names by which people may call it, folded.
        switches: which optional rules can apply to it; `Rule.needs` names one of these.
        judges_rights: whether the sender's permissions matter at all.
    """

    names: tuple[str, ...]
    id: str = "#0"
    interaction_enabled: bool = True
    enable_addressing: bool = True
    addressed_by: AddressedBy = AddressedBy.NAME
    max_agent_hops: int = MAX_AGENT_HOPS
    is_capturing: bool = False
    channels: Mapping[str, ChannelConfig] = field(default_factory=dict)
    room_messages: Outcome = Outcome.IGNORE
    trigger_permissions: tuple[str, ...] = ()
    trust_overrides: tuple[tuple[str, float], ...] = ()
    called: tuple[str, ...] = field(init=False, repr=False, compare=False)
    switches: frozenset[str] = field(init=False, repr=False, compare=False)
    judges_rights: bool = field(init=False, repr=False, compare=False)

    # Derived once per listener rather than for every message it hears.
    def __post_init__(self) -> None:
        switches = {
            "is_disabled": not self.interaction_enabled,
            "is_capturing": self.is_capturing,
            "has_channels": bool(self.channels),
            "heeds_room": self.room_messages is not IGNORE,
        }
        is_on = frozenset(name for name, is_set in switches.items() if is_set)
        object.__setattr__(self, "switches", is_on)
        goes_by_name = self.enable_addressing and self.addressed_by is AddressedBy.NAME
        called = (*filter(None, map(folded_name, self.names)), *short_names(self.names))
        called = called if goes_by_name else ()
        object.__setattr__(self, "called", called)
        judges_rights = bool(self.trigger_permissions or self.trust_overrides)
        object.__setattr__(self, "judges_rights", judges_rights)


@dataclass(frozen=True, slots=True)
class Standing:
    """The sender, as far as the listener knows it.

    Attributes:
        is_engaged: whether the listener is in conversation with the sender here.
        answered, refused: how often the sender was answered, or refused because of a limit.
        trust_override: trust given to a permission that the sender has.
    """

    is_muted: bool = False
    is_permitted: bool = False
    is_engaged: bool = False
    answered: int = 0
    refused: int = 0
    trust_override: float | None = None


STRANGER = Standing()


@dataclass(frozen=True, slots=True)
class Verdict:
    """The judgement of a message: outcome, the rule that decided, and the basis of its trust."""

    outcome: Outcome
    rule: int
    name: str
    basis: Basis

    @property
    def trust(self) -> float:
        """Trust in the content, 0 to 1."""
        return self.basis.trust


@dataclass(frozen=True, slots=True)
class Overheard:
    """An overheard message, kept for a while as context for the next turn.

    Private words are kept with their speaker, and never enter a turn for anybody else.

    Attributes:
        person: the player behind it, "" for the game itself.
        mask: id of a masked speaker, as heard, else "".
        sender_id: the character that spoke, else "".
        body: at most MOST_OF_ONE characters.
        trust: trust in it, 0 to 1.
    """

    source: str
    person: str
    name: str
    place: str
    body: str
    trust: float
    mask: str = ""
    sender_id: str = ""

    @classmethod
    def from_heard(cls, heard: Heard, trust: float, place: str = "") -> Overheard:
        """The part of a heard message that is kept.

        Args:
            place: the room ("#2") where it was heard, or the channel.
        """
        body = heard.body
        if len(body) > MOST_OF_ONE:
            body = body[: MOST_OF_ONE - 1] + "…"
        fields = (heard.source.value, heard.person, heard.sender_name, place or heard.place, body)
        return cls(*fields, trust, heard.mask, heard.sender_id)

    def may_be_told_to(self, person: str) -> bool:
        """True if a turn for that person may know of it."""
        return Source(self.source) not in PRIVATE or (self.mask or self.person) == person != ""


def with_newest(
    earlier: Sequence[Overheard], new: Overheard, *, messages: int, characters: int
) -> list[Overheard]:
    """Add a message, and drop the oldest until both limits hold."""
    result = [*earlier, new]
    # Summed up once and adjusted, rather than anew for each message that is dropped.
    size = sum(len(item.body) for item in result)
    first = 0
    while first < len(result) and (len(result) - first > messages or size > characters):
        size -= len(result[first].body)
        first += 1
    return result[first:]


def tellable(overheard: Iterable[Overheard], person: str) -> tuple[Overheard, ...]:
    """The overheard messages that a turn for that person may know of."""
    return tuple(item for item in overheard if item.may_be_told_to(person))
