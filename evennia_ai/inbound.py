"""From Evennia's messages to `Heard`: server-made marks first, text only for the speech itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evennia.utils.ansi import strip_ansi

from evennia_ai.core.perception import Heard, Source

ASSISTANT_MARK = "assistant_message"
HOPS_MARK = "assistant_hops"

_SOURCES = {
    "say": Source.SAY,
    "whisper": Source.WHISPER,
    "pose": Source.POSE,
    "emote": Source.POSE,
}
_CLOSING = {'"': '"', "“": "”", "«": "»", "„": "“"}


def marks(kind: str, hops: int) -> dict[str, Any]:
    """The server-made options that go with a message of an assistant."""
    return {"type": kind, ASSISTANT_MARK: True, HOPS_MARK: hops}


def cut_speech(rendered: str, name: str) -> str:
    """The speech inside a rendered line such as `Tom whispers: "|nhello|n"`.

    What stands between the first quotation mark after the speaker's name and the last one; without
    marks, everything after the name.
    """
    plain = strip_ansi(rendered) if "|" in rendered or "\x1b" in rendered else rendered
    rest = plain[len(name) :] if name and plain.startswith(name) else plain
    opened = next((i for i, ch in enumerate(rest) if ch in _CLOSING), None)
    if opened is not None:
        closed = rest.rfind(_CLOSING[rest[opened]])
        if closed > opened:
            return rest[opened + 1 : closed].strip()
    return rest.strip()


def sender_of(from_obj: Any) -> Any:
    """The sending object of a message, which Evennia gives as such or as the first of several."""
    sender = from_obj[0] if isinstance(from_obj, (list, tuple)) and from_obj else from_obj
    return sender if hasattr(sender, "dbref") else None


def _as_hops(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def read(text: Any, from_obj: Any, listener: Any) -> Heard | None:
    """Read what a listener was sent.

    Args:
        text: a string, or the pair (string, options) of Evennia's messages.
        from_obj: who sent it, or None.
        listener: the character that received it.

    Returns:
        What was heard, or None when it is no speech of anybody.
    """
    if not isinstance(text, (tuple, list)) or len(text) < 2 or not isinstance(text[1], Mapping):
        return None
    rendered, options = text[0], text[1]
    source = _SOURCES.get(options.get("type", ""))
    sender = sender_of(from_obj)
    if source is None or sender is None or not isinstance(rendered, str):
        return None
    name = sender.get_display_name(listener) if hasattr(sender, "get_display_name") else sender.key
    return Heard(
        body=cut_speech(rendered, strip_ansi(name)),
        source=source,
        sender_id=sender.dbref,
        sender_name=sender.key,
        is_self=sender == listener,
        from_assistant=options.get(ASSISTANT_MARK) is True,
        hops=_as_hops(options.get(HOPS_MARK)),
        evidence="oob",
    )
