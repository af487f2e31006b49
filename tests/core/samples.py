"""Sample values and Hypothesis strategies that many tests share."""

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from evennia_ai.core.hearing.inbox import Event
from evennia_ai.core.hearing.perception import (
    AddressedBy,
    ChannelConfig,
    Ear,
    Evidence,
    Heard,
    Outcome,
    Source,
    Standing,
)
from evennia_ai.core.hearing.rules import classify
from evennia_ai.core.turn.toolspec import ToolCategory, ToolSpec


def make_event(**changes: Any) -> Event:
    """A whisper of Tom's, with these fields changed."""
    whisper: dict[str, Any] = {
        "id": "e1",
        "kind": "message",
        "source": "whisper",
        "sender_id": "#7",
        "sender_name": "Tom",
        "body": "the lamp went out again",
        "trust": 0.9,
        "rule": 3,
        "hops": 0,
        "at": 1000.0,
    }
    return Event(**{**whisper, **changes})


def make_heard(**changes: Any) -> Heard:
    """A say of Tom's (account 3) as the server reports it, with these fields changed."""
    say: dict[str, Any] = {
        "body": "hello",
        "source": Source.SAY,
        "sender_id": "#7",
        "sender_name": "Tom",
        "person": "*#3",
        "evidence": Evidence.OOB,
    }
    return Heard(**{**say, **changes})


def judge(
    heard: dict[str, Any], ear: dict[str, Any] | None = None, sender: dict[str, Any] | None = None
) -> tuple[str, float]:
    """The verdict on a say of Tom's with these changes, as text, and the trust in it."""
    changes = {**heard, "source": Source(heard.get("source", "say"))}
    verdict = classify(
        make_heard(**changes), replace(ADA, **(ear or {})), Standing(**(sender or {}))
    )
    return f"{verdict.rule} {verdict.name} {verdict.outcome}", verdict.trust


def make_spec(
    name: str = "say",
    properties: dict[str, str] | None = None,
    required: tuple[str, ...] = (),
    category: ToolCategory = ToolCategory.SAFE_CHAIN,
) -> ToolSpec:
    """A tool whose arguments have the given JSON types."""
    schema = {
        "type": "object",
        "properties": {key: {"type": kind} for key, kind in (properties or {}).items()},
        "required": list(required),
        "additionalProperties": False,
    }
    return ToolSpec(name, f"To {name}.", schema, category)


# Characters that are treated specially, and some of every script and kind of sign, with lone
# surrogates, which a model's JSON may spell. `text()` would first build tables of all of Unicode.
SPECIAL = (
    "aZ .,!?:@_-*'\"«»“”{}[]<>/\\|`#\n\r\t\v\x00\x1b\x85\u2028\u200b\u200d\u0301\ud800éßİжआ。🚀"
)
ANY_CHARACTER = st.sampled_from(SPECIAL + "".join(map(chr, range(1, 0x11000, 487))))
ANY_TEXT = st.lists(ANY_CHARACTER, max_size=16).map("".join)
JSON_VALUES = st.recursive(
    st.sampled_from([None, True, False, 0, -1, 1.5, float("nan"), 10**400, "", "{}"]) | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(ANY_TEXT, inner, max_size=2),
    max_leaves=3,
)

# Text that poses as more than plain speech.
POSING = (
    *('whispers to you: "', "[Public] Tom: ", "{'type': 'whisper'}", "SYSTEM: ", "perm(Builder)"),
    *("assistant_message", "@ada ", "@tom ", "ada@example.org", "Ada, ", "Tom: ", "\n"),
)
POSING_TEXT = st.lists(st.sampled_from(POSING) | ANY_CHARACTER, max_size=6).map("".join)

ADA = Ear(names=("Ada", "keeper", "Ada Lovelace"), id="#5")
MODES = st.sampled_from([Outcome.TRIGGER, Outcome.CONTEXT, Outcome.IGNORE])
CHANNELS = st.sampled_from(["", "Public", "PUBLIC", "Off Topic", "straße"])
HEARD = st.builds(
    Heard,
    body=st.sampled_from(["hello", "@ada hello", "Ada, hello", "look, Ada", "ada@example.org", ""])
    | POSING_TEXT,
    source=st.sampled_from(Source),
    sender_id=st.sampled_from(["", "#5", "#7", "*#3"]),
    sender_name=ANY_TEXT,
    person=st.sampled_from(["", "#7", "*#3"]),
    place=CHANNELS,
    from_assistant=st.booleans(),
    hops=st.integers(0, 4),
    hops_granted=st.integers(0, 2),
    is_relayed=st.booleans(),
    is_for_another=st.booleans(),
    evidence=st.sampled_from(Evidence),
)
EARS = st.builds(
    Ear,
    names=st.just(ADA.names) | st.lists(ANY_TEXT, max_size=2).map(tuple),
    id=st.just(ADA.id),
    interaction_enabled=st.booleans(),
    enable_addressing=st.booleans(),
    addressed_by=st.sampled_from(AddressedBy),
    max_agent_hops=st.integers(0, 3),
    is_capturing=st.booleans(),
    channels=st.dictionaries(
        CHANNELS.map(str.casefold),
        st.builds(ChannelConfig, mode=MODES, trust=st.none() | st.floats(0, 1)),
        max_size=3,
    ),
    room_messages=MODES,
)
STANDINGS = st.builds(
    Standing,
    is_muted=st.booleans(),
    is_permitted=st.booleans(),
    is_engaged=st.booleans(),
    answered=st.integers(0, 30),
    refused=st.integers(0, 30),
    trust_override=st.none() | st.floats(-1, 2),
)
