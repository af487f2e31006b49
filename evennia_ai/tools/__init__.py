"""Tools: what an assistant can do. A tool is a plain function with a docstring and annotations.

    from evennia_ai.tools import tool

    @tool(category="safe_chain")
    def tide(character, harbour: str) -> str:
        \"\"\"When the tide turns in a harbour.

        Args:
            harbour: name of a harbour that exists in the game.
        \"\"\"
        return almanac.next_tide(harbour)

Modules named in the setting EVENNIA_AI_TOOL_MODULES are imported at start; that registers their
tools. `character` is the acting assistant; a parameter `turn` receives the turn; both are hidden
from the model. The result is text for the model; what cannot be done raises `ToolError` with a text
for the model.
"""

from evennia_ai.errors import ToolError
from evennia_ai.tools.registry import REGISTRY, CharacterTools, load_modules, tool

__all__ = ["REGISTRY", "CharacterTools", "ToolError", "load_modules", "tool"]
