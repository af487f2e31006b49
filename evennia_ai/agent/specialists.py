"""The specialists that an assistant may hand tasks to: those in the game, and agents elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from evennia.scripts.models import ScriptDB

from evennia_ai.a2a_client.agents import RemoteSpecialist
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.core.turn.execution import ExecutionConfig
from evennia_ai.runtime import services, state
from evennia_ai.runtime.assistant import Assistant

MOST_TOLD, LONGEST_NAME = 20, 60


def in_game(script: Assistant, tag: str) -> list[Any]:
    """The other assistants with a tag, of whatever category, by name."""
    found = ScriptDB.objects.filter(
        db_tags__db_key=tag.strip().casefold(), db_tags__db_tagtype__isnull=True
    ).distinct()
    others = [other for other in found if hasattr(other, "enqueue") and other is not script]
    return sorted(others, key=lambda other: str(other.key).casefold())


def elsewhere(script: Assistant) -> list[RemoteSpecialist]:
    """The agents outside the game that an assistant may ask, by name."""
    return services.remote_specialists().of(str(script.key))


def find_elsewhere(
    script: Assistant, known: Sequence[Assistant], name: str | None
) -> RemoteSpecialist | None:
    """The agent elsewhere of a name, where the assistant may ask it and nobody here has that name.

    Args:
        known: the specialists in the game.
    """
    wanted = (name or "").strip().casefold()
    if not wanted or any(str(other.key).casefold() == wanted for other in known):
        return None
    return next((each for each in elsewhere(script) if each.name.casefold() == wanted), None)


def told(script: Assistant) -> tuple[str, ...]:
    """Them all, a line each, as a model is told; none where it hands no tasks on."""
    config = ExecutionConfig.from_stored(state.read(script, "execution_config"))
    return tuple(_lines(script, config)) if config.sub_agents_enabled else ()


def _lines(script: Assistant, config: ExecutionConfig) -> Iterator[str]:
    for other in in_game(script, config.delegate_assistant_tag)[:MOST_TOLD]:
        yield one_line(str(other.key), LONGEST_NAME)
    for agent in elsewhere(script)[:MOST_TOLD]:
        yield agent.told()
