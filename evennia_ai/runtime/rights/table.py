"""The rights there are, and whose caps are whose to raise."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from evennia_ai.core.settings.budget import Scope


class Right(StrEnum):
    """The right that an act needs: one of two settings of the game, or a lock of the body."""

    STAFF = "staff"
    OWNER = "owner"
    CONTROL = "ai_control"
    CONFIGURE = "ai_configure"
    MEMORY = "ai_memory"
    MOVE = "ai_move"
    DELETE = "ai_delete"


# Each right: what it is for, and who has it where the body has no such lock.
MEANINGS: Mapping[Right, tuple[str, str]] = MappingProxyType(
    {
        Right.STAFF: ("looking at what assistants do, making one", "whoever is a Builder"),
        Right.OWNER: ("what concerns the whole game, and powers over it", "whoever is an Admin"),
        Right.CONTROL: (
            "running it: start, stop, tell it what to do, use its tools, goals, nights, answering "
            "what it asks",
            "whoever passes Evennia's `control` of the body; without that lock, staff",
        ),
        Right.CONFIGURE: (
            "setting it up: settings, prompts, look, channels, its own caps, its record, copying",
            "whoever has `ai_control`",
        ),
        Right.MEMORY: (
            "what it knows of people: changing, forgetting, beginning anew, taking it out of the "
            "game",
            "staff who have `ai_control`",
        ),
        Right.MOVE: ("where it stands", "staff who have `ai_control`"),
        Right.DELETE: ("deleting it, with all it knows", "staff who have `ai_control`"),
    }
)
OF_THE_BODY = tuple(Right)[2:]
# Who may raise a cap: whoever has the right over the account that it belongs to.
RAISES: Mapping[Scope, Right] = MappingProxyType(
    {Scope.GAME: Right.OWNER, Scope.ASSISTANT: Right.CONFIGURE, Scope.PLAYER: Right.OWNER}
)
