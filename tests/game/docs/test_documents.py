"""The examples of docs/extending.md that need a game, run in one."""

import re
from pathlib import Path
from typing import Any

from evennia_ai.tools import TOOL_REGISTRY
from tests.game.support import says
from tests.game.tools.tool_case import ToolTest

DOCS = Path(__file__).resolve().parents[3] / "docs"
SNIPPET = re.compile(r"```python\n(.*?)```", re.DOTALL)


def snippet(marker: str, *, of: str = "extending") -> dict[str, Any]:
    """Names defined by the example that contains `marker`, executed."""
    path = DOCS / f"{of}.md"
    text = path.read_text(encoding="utf-8")
    source = next(code for code in SNIPPET.findall(text) if marker in code)
    names: dict[str, Any] = {}
    exec(compile(source, str(path), "exec"), names)
    return names


class TestExtending(ToolTest):
    def test_a_way_of_speaking_of_the_games_own(self) -> None:
        self.model.answers.append(says("No need to shout."))
        snippet("def shout")["shout"](self.tom, "@ada WHERE ARE YOU")
        self.type(self.tom, "look")
        assert ['Ada says, "No need to shout."'] == self.mira.heard_from(self.ada)
        text = self.prompt(0)
        assert text.endswith(': "WHERE ARE YOU"')

    def test_output_of_a_command_is_collected(self) -> None:
        lines = snippet("def inventory_of")["inventory_of"](self.ada_script)
        assert ["You are not carrying anything."] == lines

    def test_a_tool_that_is_a_class(self) -> None:
        self.addCleanup(TOOL_REGISTRY.pop, "ships")
        snippet("class HarbourMaster")
        assert (True, 60.0) == (
            TOOL_REGISTRY["ships"].spec.cacheable,
            TOOL_REGISTRY["ships"].spec.cache_ttl,
        )
        assert '{"ships": ["Kestrel"]}' == self.told("ships")
        assert "there is no sloop in the harbour" == self.refusal("ships", kind="sloop")

    def test_what_an_owner_allows(self) -> None:
        lamp = self.make_thing("lamp")
        snippet("def let_her_keep")["let_her_keep_the_lamp"](self.ada_script, lamp)
        assert "You are not carrying" in self.told("execute_command", command="inv")
        assert "not allowed the command" in self.refusal("execute_command", command="get lamp")
        done = (True, "is_lit of lamp is set")
        assert done == self.do("set_attribute", target="lamp", name="is_lit", value=True)
        assert lamp.db.is_lit
        assert not self.do("set_attribute", target="lamp", name="desc", value="x")[0]
