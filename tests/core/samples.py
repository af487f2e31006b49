"""Values that many tests begin with."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from evennia_ai.core.inbox import Event
from evennia_ai.core.toolspec import ToolCategory, ToolSpec


def make_event(**changes: Any) -> Event:
    """A whisper of Tom's, with whatever a test wants different."""
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


# Characters that something special is done with, and some of every kind of script and sign, lone
# surrogates too: a model's JSON may spell them. `text()` would first learn all of Unicode.
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
