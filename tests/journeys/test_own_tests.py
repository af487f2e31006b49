"""The tests that the documents show run by Evennia's own command."""

import re
from pathlib import Path

from tests.journeys.game import ROOT, Game
from tests.journeys.test_install import follow_on_disk, read_install_steps

SNIPPET = re.compile(r"```python\n(# world/tests.py\n.*?)```", re.DOTALL)


def test_evennia_test_runs_the_documents_tests(stock: Path, tmp_path: Path) -> None:
    """`evennia test` in an `evennia --init` game that has just installed the package."""
    testing = (ROOT / "docs" / "testing.md").read_text(encoding="utf-8")
    match = SNIPPET.search(testing)
    assert match is not None
    with Game.copy(stock, tmp_path / "tested") as game:
        for step in read_install_steps():
            follow_on_disk(game, step)
        (game.folder / "world" / "tests.py").write_text(match[1], encoding="utf-8")
        output = game.launch("test", "--settings", "settings.py", "world")
        assert "Ran 4 tests" in output, output
        assert re.search(r"^OK$", output, re.MULTILINE), output
