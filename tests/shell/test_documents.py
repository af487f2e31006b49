"""The examples of docs/extending.md that need a game, run in one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from tests.shell.support import ShellTest, says

EXTENDING = Path(__file__).resolve().parents[2] / "docs" / "extending.md"
SNIPPET = re.compile(r"```python\n(.*?)```", re.DOTALL)


def snippet(marker: str) -> dict[str, Any]:
    """What the example that holds `marker` defines."""
    text = EXTENDING.read_text(encoding="utf-8")
    source = next(code for code in SNIPPET.findall(text) if marker in code)
    names: dict[str, Any] = {}
    exec(compile(source, str(EXTENDING), "exec"), names)
    return names


class TestExtending(ShellTest):
    """What a game developer copies works."""

    def test_a_way_of_speaking_of_the_games_own(self) -> None:
        """A shout that names her is answered, and she heard the bare words."""
        self.model.answers.append(says("No need to shout."))
        snippet("def shout")["shout"](self.tom, "@ada WHERE ARE YOU")
        self.type(self.tom, "look")
        assert ['Ada says, "No need to shout."'] == self.mira.heard_from(self.ada)
        told = self.model.bodies[0]["messages"][-1]["content"]
        assert told.endswith(': "WHERE ARE YOU"')

    def test_output_of_a_command_is_collected(self) -> None:
        """What the assistant reads when it types a command of the game."""
        lines = snippet("def inventory_of")["inventory_of"](self.ada_script)
        assert ["You are not carrying anything."] == lines
