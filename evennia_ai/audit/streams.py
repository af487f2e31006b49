"""The subject of an audit log: an assistant, or the game. Each has its own stream of events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid5

GAME = "game"
# Never changed: all that was ever recorded is found by it.
_NAMESPACE = UUID("3b6a9c1e-5d0f-4a53-9a37-6d1c2f8e7b40")


@dataclass(frozen=True, slots=True)
class Subject:
    """The subject of an audit log.

    Attributes:
        id: of the stream.
        name: for people.
        script: the assistant's, while somebody has it.
    """

    id: UUID
    name: str
    script: Any = None

    @property
    def is_game(self) -> bool:
        """True for the game, False for an assistant."""
        return self.id == GAME_ID


def id_of(key: str) -> UUID:
    """The stream of an assistant; small and capital letters are the same."""
    return uuid5(_NAMESPACE, f"assistant/{key.casefold()}")


GAME_ID = uuid5(_NAMESPACE, GAME)


def name_of(subject: Any) -> str:
    """The name of a subject: an assistant's key, or a word such as "game"."""
    return str(getattr(subject, "key", subject))


def subject_of(whom: Any) -> Subject | None:
    """The subject that is meant.

    Args:
        whom: an assistant's script or its name, or "game".

    Returns:
        None: of that no record is kept, as of a script that is not stored.
    """
    if isinstance(whom, str):
        return Subject(GAME_ID if whom == GAME else id_of(whom), whom)
    if getattr(whom, "pk", None) is None or not hasattr(whom, "attributes"):
        return None
    return Subject(id_of(name_of(whom)), name_of(whom), whom)
