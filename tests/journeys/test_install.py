"""Another game gets an assistant by README's steps, and nothing besides."""

import re
from pathlib import Path

import pytest

from tests.fakes.answers import compose_reply
from tests.fakes.handle import MODEL_NAME, FakeModel
from tests.journeys.clients import PASSWORD, Player
from tests.journeys.game import ROOT, Game
from tests.journeys.readme import Step, edit_file, install_checkout, read_steps

MOST_STEPS = 5
CREATE = re.compile(r"assistant create (\w+)")


# A game may have changed its characters: its module imports ours, and sets attributes.
OWN_CHARACTER = """
    def at_object_creation(self):
        super().at_object_creation()
        self.db.strength = 12
"""


def read_install_steps() -> list[Step]:
    return read_steps((ROOT / "README.md").read_text())


def test_installing_takes_at_most_five_steps() -> None:
    steps = read_install_steps()
    assert len(steps) <= MOST_STEPS
    assert any(CREATE.match(line) for step in steps for line in step.lines)


def follow_on_disk(game: Game, step: Step) -> None:
    if step.kind == "bash":
        game.run_shell(install_checkout("\n".join(step.lines)))
    elif step.kind == "python":
        edit_file(game.folder / step.file, step.lines)


def follow_in_game(player: Player, step: Step) -> None:
    for line in step.lines if step.kind == "text" else ():
        player.send(line)


def test_a_game_of_somebody_else_gets_an_assistant(
    stock: Path, tmp_path: Path, model: FakeModel
) -> None:
    """The assistant of an `evennia --init` game that follows README answers a whisper.

    Its body is a character of that game, and its name is protected.
    """
    steps = read_install_steps()
    with Game.copy(stock, tmp_path / "theirs") as game:
        try:
            change_characters(game.folder / "typeclasses/characters.py")
            game.ask_model_at(model.base_url, MODEL_NAME)
            for step in steps:
                follow_on_disk(game, step)
            game.start(by_launcher=True)
            create_and_whisper(game, steps)
            take_her_name(game)
        except AssertionError as error:
            pytest.fail(f"{error}\n{game.describe_logs()}")


def create_and_whisper(game: Game, steps: list[Step]) -> None:
    created = [m[1] for step in steps for line in step.lines if (m := CREATE.match(line))]
    with game.log_in_admin() as admin:
        for step in steps:
            follow_in_game(admin, step)
        for name in created:
            admin.expect(rf"{name}\b.*\bawake")
            reply = re.escape(compose_reply("hello"))
            admin.ask(f"whisper {name.lower()} = hello", rf'{name} whispers: "{reply}"')


def change_characters(path: Path) -> None:
    """Let the module of the game's characters import ours, and give them strength."""
    text = path.read_text().replace("    pass\n", "")
    path.write_text(
        f"from evennia_ai.assistant_character import AssistantMixin\n{text}{OWN_CHARACTER}"
    )


def take_her_name(game: Game) -> None:
    """Check that her name is refused, and that her body is a character of this game."""
    with game.open_telnet() as stranger:
        for name in ("Edda", "3dda"):
            refused = r"an assistant of this game"
            asked = stranger.ask(f"create {name} {PASSWORD}", f"you intended|{refused}")
            if "intended" in asked[0]:
                stranger.ask("y", refused)
    with game.log_in_admin() as admin:
        admin.ask("@name me = Edda", "Edda is an assistant of this game")
        admin.ask("examine edda/strength", "12")
