"""The tools for projects: stored with each change, private where a talk was."""

import json

from evennia_ai.memory import projects
from evennia_ai.runtime import state
from tests.game.memory.memory_case import MemoryTest
from tests.game.tools.tool_case import ToolTest


class TestProjects(MemoryTest, ToolTest):
    def create(self, key: str, source: str = "say", **more: str) -> str:
        """Begin a project in an open talk with Tom."""
        arguments = {"project_key": key, "summary": f"about {key}", **more}
        return self.told("create_project", turn=self.turn("hello", source=source), **arguments)

    def test_a_project_is_kept(self) -> None:
        assert "project harbour_map is active" == self.create("Harbour map", context="ask Tom")
        self.ada_script.at_pause()
        self.ada_script.at_start()
        expected = "You are working on harbour_map: about Harbour map\nask Tom"
        assert expected == projects.prompt_text(self.ada_script, self.turn("hello", source="say"))
        assert "harbour_map (active): about Harbour map" == self.told("list_projects")
        slot = state.read(self.ada_script, "projects")["slots"]["harbour_map"]
        assert self.clock.seconds() == slot["created_at"]

    def test_changing_over(self) -> None:
        """The old project keeps how far it came, and the model reads the new one's context."""
        for key in ("map", "boat"):
            self.create(key, context=f"context of {key}")
        aloud = self.turn("hello", source="say")
        text = self.told(
            "swap_project",
            project_key="map",
            current_project_update="the hull is tight",
            reasoning="Tom asked",
            turn=aloud,
        )
        assert {
            "old_project": "boat",
            "new_project": "map",
            "new_project_summary": "about map",
            "new_project_context": "context of map",
        } == json.loads(text)
        slots = state.read(self.ada_script, "projects")["slots"]
        assert ("paused", "the hull is tight") == (
            slots["boat"]["status"],
            slots["boat"]["context"],
        )
        expected = "Project 'mill' does not exist; available_projects: map, boat"
        refused = self.refusal("swap_project", project_key="mill", current_project_update="")
        assert expected == refused

    def test_writing_down_how_it_stands(self) -> None:
        """The active project is meant if none is named."""
        self.create("map")
        aloud = self.turn("hello", source="say")
        self.told("update_project", context="half done", turn=aloud)
        assert projects.prompt_text(self.ada_script, aloud).endswith("half done")
        self.told("update_project", project_key="map", status="completed", turn=aloud)
        assert "" == projects.prompt_text(self.ada_script, aloud)
        expected = "Project '' does not exist; available_projects: map"
        assert expected == self.refusal("update_project", context="more", turn=aloud)

    def test_what_cannot_be_begun(self) -> None:
        self.create("map")
        expected = "there is a project 'map' already; choose another key"
        assert expected == self.refusal("create_project", project_key="map", summary="x")

    def test_what_is_private_stays_so(self) -> None:
        self.create("secret", source="whisper")
        tom, mira = self.turn("hello"), self.turn("hello", person=self.mira)
        aloud = self.turn("hello", source="say")
        assert "secret" in projects.prompt_text(self.ada_script, tom)
        assert ("", "") == (
            projects.prompt_text(self.ada_script, mira),
            projects.prompt_text(self.ada_script, aloud),
        )
        for turn in (mira, aloud):
            assert "you have no project" == self.told("list_projects", turn=turn)
        assert "secret (active): about secret" == self.told("list_projects", turn=tom)

    def test_where_nobody_else_hears_it(self) -> None:
        """Tom may be told aloud then, and what Ada writes down in such a turn is private too."""
        self.create("secret", source="whisper")
        self.mira.location = self.room2
        for name in ("list_projects", "create_project"):
            aloud = self.turn("hello", source="say")
            more = {"project_key": "next", "summary": "x"} if name == "create_project" else {}
            self.told(name, turn=aloud, **more)
            assert aloud.is_private
        aloud = self.turn("hello", source="say")
        assert "next" in projects.prompt_text(self.ada_script, aloud)
        assert aloud.is_private
        assert state.read(self.ada_script, "projects")["slots"]["next"]["is_private"]

    def test_without_consent(self) -> None:
        state.write(self.ada_script, unremembered=[self.id_of(self.tom)])
        expected = "nothing of this talk may be remembered; go on without"
        refused = self.refusal("create_project", project_key="map", summary="x")
        assert expected == refused
