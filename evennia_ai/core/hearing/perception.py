"""Messages as they are perceived: the values that the rules of hearing work on.

What a message looks like on the wire lives in `messages.incoming`, what it means to the listener in
`rules`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, NamedTuple, Self

from pydantic import AfterValidator, TypeAdapter, WithJsonSchema

from evennia_ai.core.hearing.calling import folded_name
from evennia_ai.core.hearing.trust import Basis
from evennia_ai.core.settings.model import Part, SettingsGroup, setting

MAX_AGENT_HOPS = 3
# Characters that are kept of one message that was overheard.
MOST_OF_ONE = 400


class Source(StrEnum):
    """The way by which a message reached the listener."""

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
# What the server says is speech; an emit may be anything, such as a lamp that is picked up.
OPEN_SPEECH = frozenset((Source.SAY, Source.POSE, Source.CHANNEL))
# Speech that is nothing but words: a bare name at its beginning or end calls somebody.
CALLING = frozenset((Source.SAY, Source.CHANNEL))


class Outcome(StrEnum):
    """The treatment of a message by the listener."""

    TRIGGER = "trigger"
    CONTEXT = "context"
    CAPTURE = "capture"
    IGNORE = "ignore"


# Looking a member up in its enum costs as much as a rule; these are asked of each message.
CHANNEL, POSE, SYSTEM = Source.CHANNEL, Source.POSE, Source.SYSTEM
CONTEXT, IGNORE, TRIGGER = Outcome.CONTEXT, Outcome.IGNORE, Outcome.TRIGGER


class AddressedBy(StrEnum):
    """The words that address the listener: its name where people call it, or only @name."""

    NAME = "name"
    AT = "at"


class Evidence(StrEnum):
    """The origin of a message's kind; nothing that can be typed is ever among them."""

    KWARGS = "kwargs"
    OOB = "oob"
    RECORD = "record"
    CALL = "call"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Heard:
    """One message as the listener received it.

    Attributes:
        body: the speech alone, without the frame the game put around it.
        sender_id: "#12" of the sending object, "*#3" of an account, or "" when the game itself
            speaks to the listener (`Source.SYSTEM`) or nobody can be named.
        person: the player behind the sender ("*#3"), else the sender; what limits count by.
        mask: what a masked sender is known by ("#12~1a2b3c4d"), else "".
        place: the channel's name; "" elsewhere.
        from_assistant: some assistant made it (server-made mark, not spoken text).
        hops: how many assistants in a row this message is an answer to.
        hops_granted: how many more than its limit this chain of answers was granted.
        chain: of what it is an answer to, as `core.hearing.chain` knows it; "" for what begins one.
        begun_by: who began that ("*#3"), and pays for it.
        is_relayed: a bot passed it on from outside; who wrote it there is only text.
        is_for_another: it is aimed at somebody else.
        evidence: where `source` was read from.
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
        """The being that the listener takes the sender for: the person, or somebody in a mask."""
        return self.mask or self.person


def _settable(mode: Outcome) -> Outcome:
    """A mode that people can set: only a tool captures."""
    if mode is Outcome.CAPTURE:
        raise ValueError
    return mode


Mode = Annotated[
    Outcome,
    AfterValidator(_settable),
    WithJsonSchema({"type": "string", "enum": [str(each) for each in (TRIGGER, CONTEXT, IGNORE)]}),
]

TRUST: TypeAdapter[float] = TypeAdapter(Part)
MODE: TypeAdapter[Outcome] = TypeAdapter(Mode)
ADDRESSED_BY = TypeAdapter(AddressedBy)


class ChannelConfig(SettingsGroup):
    """The treatment of one channel, and the trust in its speech."""

    mode: Mode = setting(Outcome.IGNORE, "trigger, context or ignore.")
    trust: Part | None = setting(None, "how far what is said there is believed, 0 to 1.")

    @classmethod
    def of_channel(cls, name: str, stored: object) -> Self:
        """Read "trigger", or {"mode": "trigger", "trust": 0.5}.

        Raises:
            ConfigurationError: it is something else.
        """
        given = {"mode": stored} if isinstance(stored, str) else stored
        return cls.from_stored(given, f"channel_configs[{name!r}]")


class Switches(NamedTuple):
    """The rules that can apply to a listener as it is set; `Rule.needs` names one of these."""

    is_disabled: bool
    is_capturing: bool
    has_channels: bool
    heeds_room: bool


@dataclass(frozen=True, slots=True)
class Ear:
    """The listener, as far as the rules need to know it.

    Attributes:
        id: "#12" of the listener: a message of that sender is its own.
        names: key and aliases that an @mention may use.
        addressed_by: whether people may call it by a bare name, beside @name.
        max_agent_hops: messages between assistants trigger while their hop count is below this and
            what was granted; 0: no limit.
        is_capturing: a tool waits for the output of a command.
        channels: what to do with a channel, by its name in lower case.
        room_messages: what to do with speech in the room that is for nobody in particular.
        trigger_permissions: permissions and lock strings whose holders need not address it.
        called: names that people may call it by without a sign, as `folded` text has them.
        trust_overrides: the same, each with the trust its holders have.
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
    switches: Switches = field(init=False, repr=False, compare=False)
    judges_rights: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        switches = Switches(
            not self.interaction_enabled,
            self.is_capturing,
            bool(self.channels),
            self.room_messages is not IGNORE,
        )
        object.__setattr__(self, "switches", switches)
        goes_by_name = self.enable_addressing and self.addressed_by is AddressedBy.NAME
        called = tuple(filter(None, map(folded_name, self.names))) if goes_by_name else ()
        object.__setattr__(self, "called", called)
        judges_rights = bool(self.trigger_permissions or self.trust_overrides)
        object.__setattr__(self, "judges_rights", judges_rights)


@dataclass(frozen=True, slots=True)
class Standing:
    """The sender, as far as the listener knows it.

    Attributes:
        is_muted: the sender wants neither to hear it nor to be heard.
        is_permitted: the sender has one of the `trigger_permissions`.
        is_engaged: the listener spoke with the sender here just now.
        answered, refused: how often the sender was answered, or turned away for a limit.
        trust_override: the trust that a permission of the sender's stands for.
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
    """The judgement of a message: outcome, the rule that made it, the basis of its trust."""

    outcome: Outcome
    rule: int
    name: str
    basis: Basis

    @property
    def trust(self) -> float:
        """The trust in the content, 0 to 1."""
        return self.basis.trust


@dataclass(frozen=True, slots=True)
class Overheard:
    """A message that was overheard: kept for a while, bounded, and told with the next turn.

    Private words are kept with whoever said them and are never part of a turn for somebody else.

    Attributes:
        person: the player behind it, "" when the game itself spoke.
        mask: as heard: what a masked speaker is known by, else "".
        body: at most 400 characters.
        trust: how far it is believed, 0 to 1.
    """

    source: str
    person: str
    name: str
    place: str
    body: str
    trust: float
    mask: str = ""

    @classmethod
    def from_heard(cls, heard: Heard, trust: float, place: str = "") -> Overheard:
        """The part of a message that is kept.

        Args:
            place: the room ("#2") where it was heard, or the channel.
        """
        body = heard.body
        if len(body) > MOST_OF_ONE:
            body = body[: MOST_OF_ONE - 1] + "…"
        said = (heard.source.value, heard.person, heard.sender_name, place or heard.place, body)
        return cls(*said, trust, heard.mask)

    def may_be_told_to(self, person: str) -> bool:
        """True where a turn for that person may know of it."""
        return Source(self.source) not in PRIVATE or (self.mask or self.person) == person != ""


def with_newest(
    kept: Sequence[Overheard], new: Overheard, *, messages: int, characters: int
) -> list[Overheard]:
    """Add one; the oldest leave until both bounds hold."""
    result = [*kept, new]
    # Counted once, and not anew for each that leaves.
    size = sum(len(item.body) for item in result)
    first = 0
    while first < len(result) and (len(result) - first > messages or size > characters):
        size -= len(result[first].body)
        first += 1
    return result[first:]


def tellable(kept: Iterable[Overheard], person: str) -> tuple[Overheard, ...]:
    """Those of them that a turn for that person may know of."""
    return tuple(item for item in kept if item.may_be_told_to(person))
