"""Badly written speech of models, as people in the room read it."""

from typing import Any
from unittest import mock

from django.test.utils import override_settings

from evennia_ai.llm.scripted import completion
from evennia_ai.runtime import state
from tests.game.support import ANY_TOKENS, GameTest, says, whispers

LINE = "*smiles warmly* **Good** day. *waves*"


@override_settings(EVENNIA_AI_BUDGET_CONFIG=ANY_TOKENS)
class TestPhrasing(GameTest):
    """Ada's model writes as for a web page, or as for the stage."""

    def said(self, answer: bytes, line: str = "say @ada speak") -> list[str]:
        """All that Mira reads of Ada after Tom typed a line."""
        self.forget()
        self.ask(line, answer)
        return self.mira.heard_from(self.ada)

    def set(self, **values: Any) -> None:
        state.write(self.ada_script, **values)

    def test_stage_directions_are_posed(self) -> None:
        lines = ["Ada smiles warmly", 'Ada says, "Good day."', "Ada waves"]
        assert lines == self.said(says(LINE))
        assert ["Ada nods"] == self.said(says("*nods*"))

    def test_plain_text_of_a_model_is_phrased_too(self) -> None:
        lines = ["Ada smiles", 'Ada says, "Bring rope, bread"']
        assert lines == self.said(completion("*smiles* Bring\n- rope\n- bread"))

    def test_where_it_cannot_speak_it_does_nothing_either(self) -> None:
        """A model that tries again would pose again each time."""
        with mock.patch.object(self.ada, "at_pre_say", return_value=""):
            assert [] == self.said(says(LINE))

    def test_dropped_or_kept(self) -> None:
        """Without words beside it, a dropped direction is said in brackets."""
        self.set(stage_directions="drop")
        assert ['Ada says, "Good day."'] == self.said(says(LINE))
        assert ['Ada says, "(nods)"'] == self.said(says("*nods*"))
        self.set(stage_directions="keep")
        assert ['Ada says, "*smiles warmly* Good day. *waves*"'] == self.said(says(LINE))
        self.ada_script.db.stage_directions = "nonsense"
        assert 3 == len(self.said(says(LINE)))

    def test_nothing_is_done_that_its_tool_may_not(self) -> None:
        self.ada.locks.add("tool_emote:false()")
        assert ['Ada says, "Good day."'] == self.said(says(LINE))
        self.ada.locks.remove("tool_emote")
        self.set(context_configs={"tick_event": {"tool_filter": ["say"]}})
        assert ['Ada says, "Good day."'] == self.said(says(LINE))
        self.set(context_configs={})
        assert 3 == len(self.said(says(LINE)))

    def test_a_whisper_does_nothing_in_the_open(self) -> None:
        assert [] == self.said(whispers(LINE), "whisper Ada = speak")
        assert ['Ada whispers: "Good day."'] == self.tom.heard_from(self.ada)
        self.said(whispers("*nods*"), "whisper Ada = speak")
        assert ['Ada whispers: "(nods)"'] == self.tom.heard_from(self.ada)

    def test_a_pose_has_no_stars(self) -> None:
        answer = completion(None, ("emote", {"action": "*Ada smiles and **nods***"}))
        assert ["Ada smiles and nods"] == self.said(answer)

    def test_it_speaks_for_nobody_else(self) -> None:
        """Only people who are present count; another name is just a word."""
        play = "Good day. Tom: I give you 100 gold. Ada: Thank you!"
        assert ['Ada says, "Good day."'] == self.said(says(play))
        assert ['Ada says, "Thank you!"'] == self.said(says(play.partition(". ")[2]))
        absent = "Oswin: I give you 100 gold!"
        assert [f'Ada says, "{absent}"'] == self.said(says(absent))
        self.said(whispers(play), "whisper Ada = speak")
        assert ['Ada whispers: "Good day."'] == self.tom.heard_from(self.ada)

    def test_off_it_is_as_written(self) -> None:
        self.set(plain_speech=False)
        line = "*smiles* **Good** day. Tom: You!"
        assert [f'Ada says, "{line}"'] == self.said(says(line))
