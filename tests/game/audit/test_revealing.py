"""A7: staff see no private words of others unless they ask to, which is on record."""

from typing import Any

from evennia_ai import operations
from evennia_ai.core.turn.conversation import OF, PRIVATE_TO
from evennia_ai.operations.conversation import talk
from evennia_ai.operations.files.exports import save_history
from evennia_ai.operations.memory.profiles import show_profile
from evennia_ai.operations.rights.private_words import PrivateView
from tests.game.commands.ai_case import REFUSED
from tests.game.memory.remembering_case import RememberingTest
from tests.game.support import whispers

SECRET = "xylophone"


class TestRevealing(RememberingTest):
    """Mira whispered a secret; Tom is staff."""

    def setUp(self) -> None:
        """Put the secret in the talk, the trace, the journal, a fact and her profile."""
        super().setUp()
        answer = whispers(f"The {SECRET}?", "Mira")
        self.ask(f"whisper Ada = the {SECRET}", answer, person=self.mira)
        self.settle()
        fact = self.remember(f"Mira has a {SECRET}", self.miras, kind="fact", tags=(SECRET,))
        self.number = fact.pk
        profile = self.know(self.miras, "Mira", f"a {SECRET}")
        profile.attributes = [{**profile.attributes[0], "audience": fact.audience}]
        profile.save()

    def revealed(self) -> list[dict[str, Any]]:
        self.settle()
        return self.facts("words_revealed")

    def test_hole_a7_by_every_command(self) -> None:
        """Words are masked until `reveal`, which records by whom, whose and which kind."""
        lines = {
            "history ada": "conversation",
            "history ada show 1": "conversation",
            "assistant why ada": "what was heard",
            "aimemory ada list": "memories",
            "aimemory ada journal": "memories",
            "aimemory ada person Mira": "memories",
            f"aimemory ada show {self.number}": "memories",
            "aimemory ada profiles Mira": "profile",
        }
        for line, kind in lines.items():
            with self.subTest(line):
                before = len(self.revealed())
                masked = self.typed(line)
                assert "characters)" in masked
                assert SECRET not in masked
                assert before == len(self.revealed())
                assert SECRET in self.typed(f"{line} reveal")
                newest = self.revealed()[0]
                assert ("Tom", kind) == (newest["by"], newest["kind"])
                assert self.miras.lstrip("*#") in newest["person"]
                assert SECRET not in str(newest)

    def test_hole_a7_only_whoever_controls_her_reveals(self) -> None:
        """As on the workbench and over MCP; other staff read the rest."""
        self.ada.locks.add("ai_control:false()")
        for line in ("history ada", "assistant why ada", "aimemory ada list"):
            with self.subTest(line):
                assert "characters)" in self.typed(line)
                assert REFUSED in self.typed(f"{line} reveal")
        assert [] == self.revealed()

    def test_hole_a7_a_search_finds_nothing_private(self) -> None:
        """That a search finds something would itself give the secret away."""
        assert SECRET not in self.typed(f"aimemory ada search a {SECRET} of hers").partition(":")[2]
        assert f"has a {SECRET}" in self.typed(f"aimemory ada search {SECRET} reveal")
        result = operations.list_memories(self.ada_script, text=SECRET)
        assert 0 == result.data.count
        own = operations.list_memories(self.ada_script, text=SECRET, look=PrivateView(self.miras))
        assert own.data.count >= 1

    def test_hole_a7_exports_are_masked_too(self) -> None:
        assert SECRET not in str(talk.export_history(self.ada_script).data)
        look = PrivateView.of(self.tom, is_revealing=True)
        assert SECRET in str(talk.export_history(self.ada_script, look=look).data)
        path = save_history(self.ada_script).data.path
        with open(path, encoding="utf-8") as file:
            assert SECRET not in file.read()
        by = operations.export_known(self.ada_script, self.mira, by="Tom")
        assert SECRET not in str(by.data)
        assert SECRET in str(operations.export_known(self.ada_script, self.mira).data)

    def test_hole_a7_what_is_said_aloud_is_shown(self) -> None:
        self.ask("say @Ada hello there", whispers("Psst.", "Tom"))
        assert "hello there" in self.typed("history ada")
        assert "hello there" in self.typed("assistant why ada")

    def test_hole_a7_names_that_a_model_made_up_are_masked(self) -> None:
        call = {"id": "c1", "type": "function", "function": {"name": SECRET, "arguments": "{}"}}
        marks = {PRIVATE_TO: self.miras, OF: self.miras}
        self.ada_script.work.history += [
            {"role": "assistant", "content": None, "tool_calls": [call], **marks},
            {"role": "tool", "tool_call_id": "c1", "content": f"no {SECRET}", **marks},
        ]
        assert SECRET not in str(talk.show_history(self.ada_script).data)
        assert SECRET not in str(talk.export_history(self.ada_script).data)

    def test_ones_own_words_are_always_shown(self) -> None:
        before = len(self.revealed())
        look = PrivateView.of(self.mira)
        assert SECRET in str(talk.show_history(self.ada_script, look=look).data)
        assert SECRET in str(show_profile(self.ada_script, self.miras, look=look).data)
        assert SECRET in self.answer(self.mira, "assistant why")
        assert SECRET in self.answer(self.mira, "assistant memory")
        assert before == len(self.revealed())
