"""What was heard, and the table of rules that says what it means to the listener.

Everything that decides whether an assistant answers lives here; what a message looks like on the
wire lives in `inbound`. Rules are tried in the order of `RULES`; the first that applies wins.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from evennia_ai.core.trust import base_trust


class Source(StrEnum):
    """How a message reached the listener."""

    WHISPER = "whisper"
    PAGE = "page"
    CHANNEL = "channel"
    SAY = "say"
    POSE = "pose"
    EMIT = "emit"


class Outcome(StrEnum):
    """What the listener does with a message."""

    TRIGGER = "trigger"
    CONTEXT = "context"
    CAPTURE = "capture"
    IGNORE = "ignore"


@dataclass(frozen=True, slots=True)
class Heard:
    """One message as the listener received it.

    Attributes:
        body: the speech alone, without the frame the game put around it.
        sender_id: "#12" of the sending object, or "" when nobody can be named.
        is_self: the listener made it.
        from_assistant: some assistant made it (server-made mark, not spoken text).
        hops: how many assistants in a row this message is an answer to.
        evidence: where `source` was read from: "oob" (server-made) or "none".
    """

    body: str
    source: Source
    sender_id: str = ""
    sender_name: str = ""
    is_self: bool = False
    from_assistant: bool = False
    hops: int = 0
    evidence: str = "none"


@dataclass(frozen=True, slots=True)
class Ear:
    """What the rules need to know of the listener.

    Attributes:
        names: key and aliases that an @mention may use.
        max_agent_hops: messages between assistants trigger while their hop count is below this.
    """

    names: tuple[str, ...]
    interaction_enabled: bool = True
    enable_addressing: bool = True
    max_agent_hops: int = 3


@dataclass(frozen=True, slots=True)
class Verdict:
    """What to do with a message, by which rule, and how far its content is believed (0 to 1)."""

    outcome: Outcome
    rule: int
    name: str
    trust: float


@dataclass(frozen=True, slots=True)
class Rule:
    """One row of the table: when `applies` holds, `outcome` is the result."""

    number: int
    name: str
    applies: Callable[[Heard, Ear], bool]
    outcome: Outcome


_JOINERS = "\u200c\u200d"


def _folded(text: str) -> str:
    """Text for comparing in any case and script, with every mark and joiner held by underscores.

    A vowel sign or an accent that follows a letter is no word character to `re`; without the
    underscores a name would match inside a longer word of such a script.
    """
    text = unicodedata.normalize("NFC", text.casefold())
    if text.isascii():
        return text
    return "".join(
        f"_{ch}_" if ch in _JOINERS or unicodedata.category(ch).startswith("M") else ch
        for ch in text
    )


@lru_cache(maxsize=2048)
def _mention_pattern(names: tuple[str, ...]) -> re.Pattern[str] | None:
    words = [re.escape(_folded(name)) for name in map(str.strip, names) if name]
    if not words:
        return None
    words.sort(key=len, reverse=True)
    return re.compile(rf"(?<![\w.@])@(?:{'|'.join(words)})(?!@|[-.]?\w)")


def is_addressed(body: str, names: tuple[str, ...]) -> bool:
    """Whether `body` holds @name as a whole word, in any case and script.

    Part of a longer word, of an e-mail address or of a host name (`@ada.org`) does not count.
    """
    if "@" not in body:
        return False
    pattern = _mention_pattern(names)
    return pattern is not None and pattern.search(_folded(body)) is not None


def _may_hop(heard: Heard, ear: Ear) -> bool:
    return not heard.from_assistant or heard.hops < ear.max_agent_hops


def _is_disabled(heard: Heard, ear: Ear) -> bool:
    return not ear.interaction_enabled


def _is_own_speech(heard: Heard, ear: Ear) -> bool:
    return heard.is_self and heard.from_assistant


def _is_self(heard: Heard, ear: Ear) -> bool:
    return heard.is_self


def _is_mention(heard: Heard, ear: Ear) -> bool:
    return ear.enable_addressing and is_addressed(heard.body, ear.names) and _may_hop(heard, ear)


def _is_direct_message(heard: Heard, ear: Ear) -> bool:
    return heard.source in (Source.WHISPER, Source.PAGE) and _may_hop(heard, ear)


def _is_cross_talk(heard: Heard, ear: Ear) -> bool:
    return heard.from_assistant


def _always(heard: Heard, ear: Ear) -> bool:
    return True


RULES = (
    Rule(0, "interaction_disabled", _is_disabled, Outcome.IGNORE),
    Rule(1, "own_speech", _is_own_speech, Outcome.IGNORE),
    Rule(1, "self_message", _is_self, Outcome.CONTEXT),
    Rule(2, "direct_address", _is_mention, Outcome.TRIGGER),
    Rule(3, "direct_message", _is_direct_message, Outcome.TRIGGER),
    Rule(4, "assistant_cross_talk", _is_cross_talk, Outcome.CONTEXT),
    Rule(7, "default", _always, Outcome.IGNORE),
)


def classify(heard: Heard, ear: Ear) -> Verdict:
    """Judge one message. Total: some rule always applies."""
    rule = next(rule for rule in RULES if rule.applies(heard, ear))
    trust = base_trust(heard.source.value, addressed=rule.name == "direct_address")
    return Verdict(rule.outcome, rule.number, rule.name, trust)
