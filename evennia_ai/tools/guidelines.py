"""The tool by which the assistant proposes guidelines for itself; a person decides.

The call becomes an approval request that shows the difference. If a person with the right to
configure the assistant approves, it runs as that person's edit: it is recorded, and can be taken
back with `assistant undo`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evennia_ai.core.safety import guidelines
from evennia_ai.core.turn.toolspec import ToolCategory
from evennia_ai.core.turn.turn import Turn
from evennia_ai.errors import ToolDeniedError
from evennia_ai.runtime import state
from evennia_ai.runtime.assistant import Character
from evennia_ai.runtime.rights import Right, holds
from evennia_ai.tools.base import Tool, refusals
from evennia_ai.tools.groups import GUIDELINES
from evennia_ai.tools.orders import all_hold, givers
from evennia_ai.tools.registry import register

FOR_SETTING_UP = "your guidelines are changed with whoever may set you up, and with nobody else"


@register
class ProposeGuideline(Tool):
    """Proposes to add, replace or remove one line of the guidelines."""

    name = "propose_guideline"
    description = (
        "Propose a line on how you speak and behave from now on, or that one of yours goes. "
        "Somebody has to say yes first."
    )
    parameters: Mapping[str, Any] = {
        "type": "object",
        "properties": {
            "text": {"type": "string", "description": "the new line, one short sentence"},
            "replaces": {"type": "string", "description": "the line of yours that goes, as it is"},
        },
        "required": [],
    }
    category = ToolCategory.DANGEROUS
    needs_confirmation = True
    confirmed_by = Right.CONFIGURE
    group = GUIDELINES

    def is_useful(self, character: Character, turn: Turn) -> bool:
        """True if nobody without the right can talk the assistant into a proposal."""
        return all_hold(character, turn, Right.CONFIGURE)

    def question(self, character: Character, turn: Turn, arguments: Mapping[str, object]) -> str:
        """The question with the difference, for the person who decides."""
        if not all_hold(character, turn, Right.CONFIGURE):
            raise ToolDeniedError(FOR_SETTING_UP)
        old = state.read(character.assistant_script, "guidelines")
        return f"may I change my guidelines: {guidelines.difference(old, _new(old, arguments))}?"

    def execute(self, character: Character, turn: Turn | None = None, **arguments: Any) -> str:
        """Change the guidelines, after approval or by order of somebody with the right."""
        # Checked again: the right may have been taken away since the question.
        script, people = character.assistant_script, givers(turn) if turn is not None else ()
        if not all(holds(script, person, Right.CONFIGURE) for person in people):
            raise ToolDeniedError(FOR_SETTING_UP)
        old = state.read(script, "guidelines")
        new = _new(old, arguments)
        state.write(script, guidelines=new)
        return f"your guidelines are changed: {guidelines.difference(old, new)}"


def _new(old: tuple[str, ...], arguments: Mapping[str, object]) -> tuple[str, ...]:
    with refusals():
        return guidelines.proposed(
            old, str(arguments.get("text", "")), str(arguments.get("replaces", ""))
        )
