"""`useful_when`: the model is shown only tools that there is a use for."""

import json
from unittest import mock

from django.test.utils import override_settings
from evennia.utils import create, logger

from evennia_ai import operations
from evennia_ai.llm.scripted import completion
from evennia_ai.operations.models.shown_prompts import show_prompt
from evennia_ai.runtime import state
from evennia_ai.tools import TOOL_REGISTRY
from tests.game import game_tools
from tests.game.support import GameTest, whispers

# Tools that Ada is shown only while there is a use for them.
GOALS = {"list_goals", "complete_goal"}
NOTES = {"read_notes", "forget_note"}
PROJECTS = {"list_projects", "swap_project", "update_project"}
HANDS = {"drop", "give"}
STAFF = {"execute_command", "set_attribute"}


class UsefulCase(GameTest):
    """A test case that knows which tools the model was shown."""

    def shown(self) -> set[str]:
        return {tool["function"]["name"] for tool in self.model.bodies[-1]["tools"]}

    def shown_to(self, line: str, *answers: bytes, person: object = None) -> set[str]:
        """The tools shown after somebody (Tom) typed a line."""
        self.ask(line, *(answers or (whispers("Hm."),)), person=person)
        return self.shown()

    def results(self) -> list[str]:
        """The results of tools that the model read with its last call."""
        messages = [m for m in self.model.bodies[-1]["messages"] if m["role"] == "tool"]
        return [str(json.loads(m["content"])) for m in messages]


# The tools of other tests' games are registered too, and count against the limit.
@override_settings(EVENNIA_AI_TOOLS_BY_NEED=False, EVENNIA_AI_MAX_TOOLS_OFFERED=100)
class TestUseful(UsefulCase):
    """The package's tools, where all useful ones are shown."""

    def test_an_assistant_that_has_nothing(self) -> None:
        shown = self.shown_to("whisper Ada = hello")
        assert not shown & (GOALS | NOTES | PROJECTS | HANDS | STAFF)
        assert {"say", "look", "write_note", "create_project", "recall_memories", "get"} <= shown

    def test_what_it_has_brings_the_tools_for_it(self) -> None:
        operations.add_goal(self.ada_script, "Count the books.")
        assert GOALS <= self.shown_to("whisper Ada = hello")
        create.create_object("evennia.objects.objects.DefaultObject", "lamp", location=self.ada)
        assert HANDS <= self.shown_to("whisper Ada = hello")
        state.write(self.ada_script, command_allowlist=["look"], attribute_allowlist=["desc"])
        assert STAFF <= self.shown_to("whisper Ada = hello")

    def test_what_comes_up_in_a_turn_brings_them_at_once(self) -> None:
        """The next step of the same turn is shown them."""
        note = completion(None, ("write_note", {"text": "Tom likes tea."}))
        assert NOTES <= self.shown_to("whisper Ada = I like tea", note, whispers("Hm."))
        project = completion(None, ("create_project", {"project_key": "map", "summary": "A map."}))
        assert PROJECTS <= self.shown_to("whisper Ada = draw a map", project, whispers("Hm."))

    def test_what_it_keeps_of_somebody_else_is_nobodys_business(self) -> None:
        """Even the mere offer of a tool would tell Mira of Tom's note."""
        note = completion(None, ("write_note", {"text": "Tom likes tea."}))
        self.ask("whisper Ada = I like tea", note, whispers("Hm."))
        assert not NOTES & self.shown_to("whisper Ada = hello", person=self.mira)

    def test_a_closed_goal_is_no_use(self) -> None:
        operations.add_goal(self.ada_script, "Count the books.")
        close = completion(None, ("complete_goal", {"number": 1, "outcome": "There are nine."}))
        assert not GOALS & self.shown_to("whisper Ada = count them", close, whispers("Nine."))

    def test_what_is_not_shown_still_runs(self) -> None:
        """A model that knows the tool from before gets a plain answer."""
        closes = completion(None, ("complete_goal", {"number": 1, "outcome": "Done."}))
        self.ask("whisper Ada = are you done?", closes, whispers("Hm."))
        assert "there is no tool" not in self.results()[-1]
        assert "goal" in self.results()[-1]

    def test_what_is_not_shown_is_judged_as_ever(self) -> None:
        """A second act on the world in one reply is not done, shown or not."""
        create.create_object("evennia.objects.objects.DefaultObject", "lamp", location=self.room1)
        acts = completion(
            None, ("get", {"item": "lamp"}), ("give", {"item": "lamp", "target": "Tom"})
        )
        assert not HANDS & self.shown_to("whisper Ada = give me the lamp", acts)
        assert ["lamp"] == [thing.key for thing in self.ada.contents]

    def test_prompt_shows_the_same(self) -> None:
        """`assistant prompt` counts the tools that the model would be shown."""
        count = len(self.shown_to("whisper Ada = hello"))
        assert f"tools ({count})" in show_prompt(self.ada_script, self.tom).message


@override_settings(EVENNIA_AI_TOOL_MODULES=["tests.game.game_tools"])
class TestOfTheGame(UsefulCase):
    def test_it_says_when(self) -> None:
        assert "ring_bell" not in self.shown_to("whisper Ada = hello")
        self.ada.db.bell_for = self.tom.dbref
        assert "ring_bell" in self.shown_to("whisper Ada = hello")
        assert "ring_bell" not in self.shown_to("whisper Ada = hello", person=self.mira)

    def test_one_that_cannot_say_is_shown(self) -> None:
        """Its defect is in the log, and the answer comes."""
        self.ada.db.bell_for = game_tools.A_DEFECT
        with mock.patch.object(logger, "log_trace") as log:
            assert "ring_bell" in self.shown_to("whisper Ada = hello", whispers("Hello."))
        assert "ring_bell could not say whether it is of use" in log.call_args.args[0]
        assert ['Ada whispers: "Hello."'] == self.tom.heard_from(self.ada)


def test_the_default_is_to_be_shown() -> None:
    assert TOOL_REGISTRY["look"].is_useful(None, None)
