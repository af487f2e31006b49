"""The guided `assistant create`, used by a clumsy owner over telnet."""

import pytest

from tests.fakes.handle import FakeModel
from tests.journeys.clients import Player
from tests.journeys.game import Game
from tests.journeys.staging import quiet_log
from tests.journeys.test_adopting import whisper_of

__all__ = ("quiet_log",)


def _reaches(owner: Player, line: str, step: int) -> None:
    owner.ask(line, rf"A new assistant, {step} of 8")


@pytest.mark.usefixtures("quiet_log")
def test_lost_lines_and_a_lost_line(game: Game, model: FakeModel) -> None:
    """Game commands are explained, a dropped connection drops the menu, and a new one works."""
    with game.log_in_admin() as owner:
        _reaches(owner, "assistant create", 1)
        owner.ask("say hello all", "'say' is a game command, which does not work here")
        _reaches(owner, "Edda", 2)
        _reaches(owner, "", 3)
    with game.log_in_admin() as owner:
        owner.ask("say I am back", 'You say, "I am back"')
        _reaches(owner, "assistant create", 1)
        _reaches(owner, "Edda", 2)
        owner.ask("golem", "There is no class golem; give its full path")
        _reaches(owner, "evennia.objects.objects.DefaultCharacter", 3)
        owner.ask("cancel", "To leave this menu, type quit")
        _reaches(owner, "A tall woman.", 4)
        _reaches(owner, "back", 3)
        _reaches(owner, "A short woman.", 4)
        _reaches(owner, "Edda copies charts.", 5)
        owner.ask("look", r"Where does Edda stand\?")
        _reaches(owner, "here", 6)
        _reaches(owner, "1", 7)
        owner.ask("inventory", "'inventory' is a game command")
        owner.ask("gibberish", "'gibberish' does not look like a model's name")
        owner.ask("next", "look +A short woman\\.")
        match = owner.ask("yes", r"Edda is awake[\s\S]*assistant config Edda[\s\S]*delete Edda")
        assert "Its body is evennia.objects.objects.DefaultCharacter" in match[0]
        owner.ask("whisper edda = hello", whisper_of("hello", "Edda"))
        owner.ask("assistant config edda set persona Edda is grim.", "persona")
        owner.ask("assistant undo edda", r"persona: Edda is grim\. -> Edda copies charts\.")
        owner.ask("assistant redo edda", r"persona: Edda copies charts\. -> Edda is grim\.")
    game.reload()
    with game.log_in_admin() as owner:
        owner.ask("assistant undo edda", r"persona: Edda is grim\. -> Edda copies charts\.", 60)
        for line in ("stop all", "start all", "emergency stop all", "emergency clear all"):
            owner.ask(f"assistant {line}", r"\d of \d|\d assistants|silent|awake|stopped|cleared")
        owner.ask("whisper edda = still there?", whisper_of("still there?", "Edda"))
