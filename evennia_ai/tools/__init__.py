"""Tools: the actions of an assistant. A tool is a plain function with a docstring and annotations.

    from evennia_ai.tools import tool

    @tool(category="safe_chain")
    def tide(character, harbour: str) -> str:
        \"\"\"When the tide turns in a harbour.

        Args:
            harbour: name of a harbour that exists in the game.
        \"\"\"
        return almanac.next_tide(harbour)

Modules named in the setting EVENNIA_AI_TOOL_MODULES are imported at start, which registers their
tools. `character` is the acting assistant's character, and a parameter `turn` receives the turn;
the model sees neither. The result is text for the model, or plain data. If the action is not
possible, raise `ToolError` with a text for the model. A tool can also be a class: derive it from
`Tool` and `register` it.
"""

from evennia_ai.core.turn.toolspec import ToolCategory, ToolGroup
from evennia_ai.errors import ToolError
from evennia_ai.tools.base import Tool
from evennia_ai.tools.registry import REGISTRY, TOOL_REGISTRY, load_modules, register, tool
from evennia_ai.tools.running import CharacterTools

__all__ = [
    "REGISTRY",
    "TOOL_REGISTRY",
    "CharacterTools",
    "Tool",
    "ToolCategory",
    "ToolError",
    "ToolGroup",
    "load_modules",
    "register",
    "tool",
]
