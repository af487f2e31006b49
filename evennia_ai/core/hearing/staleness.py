"""Stale answers: the moment of a question said in the open is over when the answer comes."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar, Literal

from evennia_ai.core.settings.model import SettingsGroup, setting

SAY, PAGE, WHISPER, WAIT, DROP = "say", "page", "whisper", "wait", "drop"
# For whoever is elsewhere, and for whoever is still there.
Elsewhere = Literal["say", "page", "wait", "drop"]
There = Literal["say", "whisper", "drop"]


class StaleAnswers(SettingsGroup):
    """The way of an answer whose moment is over. A whisper or a page waits for its person."""

    NAME: ClassVar[str] = "stale_answers"

    asker_gone: Elsewhere = setting(
        "say",
        "the person who asked aloud has left: `say` it to those who are there, `page` "
        "it, let it `wait` until they are back, or `drop` it; if nobody is there, "
        "`say` waits too.",
    )
    room_changed: Elsewhere = setting(
        "page", "the same if it is in another room by then, without the person who asked."
    )
    topic_closed: There = setting(
        "say",
        "somebody else spoke to that person by name meanwhile: `say` it all the same, "
        "`whisper` it, or `drop` it.",
    )


class Staleness(StrEnum):
    """The way in which a moment is over: a key of the settings."""

    ASKER_GONE = "asker_gone"
    ROOM_CHANGED = "room_changed"
    TOPIC_CLOSED = "topic_closed"

    @property
    def text(self) -> str:
        """The same in words; {name} stands for whoever asked."""
        return _TEXTS[self]


_TEXTS = {
    Staleness.ASKER_GONE: "{name} had left",
    Staleness.ROOM_CHANGED: "it was asked in another room, and {name} was not here",
    Staleness.TOPIC_CLOSED: "somebody else had spoken to {name} meanwhile",
}
