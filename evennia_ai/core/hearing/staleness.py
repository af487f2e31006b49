"""Stale answers: the occasion of a question asked in the open has passed when the answer comes."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar, Literal

from evennia_ai.core.settings.model import SettingsGroup, setting

SAY, PAGE, WHISPER, WAIT, DROP = "say", "page", "whisper", "wait", "drop"
# Choices if the person is elsewhere, and if the person is still there.
Elsewhere = Literal["say", "page", "wait", "drop"]
There = Literal["say", "whisper", "drop"]


class StaleAnswers(SettingsGroup):
    """Ways to send an answer whose occasion has passed. Whispers and pages wait instead."""

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
    """Ways in which an occasion passes; the values are keys of the settings."""

    ASKER_GONE = "asker_gone"
    ROOM_CHANGED = "room_changed"
    TOPIC_CLOSED = "topic_closed"

    @property
    def text(self) -> str:
        """The reason in words, with {name} for the person who asked."""
        return _TEXTS[self]


_TEXTS = {
    Staleness.ASKER_GONE: "{name} had left",
    Staleness.ROOM_CHANGED: "it was asked in another room, and {name} was not here",
    Staleness.TOPIC_CLOSED: "somebody else had spoken to {name} meanwhile",
}
