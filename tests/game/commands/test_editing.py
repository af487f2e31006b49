"""The line editor for an assistant's texts."""

from typing import Any

import evennia

from evennia_ai import operations
from evennia_ai.commands.editing import open_editor
from evennia_ai.operations.models.texts import TEXTS, set_text, text_of
from evennia_ai.runtime import state
from tests.game.commands.ai_case import REFUSED_SETTINGS, StaffCommandTest

KEPT = "Your text is still in the editor"


class EditorTest(StaffCommandTest):
    """Tom edits at his own command line."""

    def edit(self, what: str, key: str | None = None) -> str:
        evennia.SESSION_HANDLER.data_out.reset_mock()
        open_editor(self.tom, self.ada_script, what, key)
        return self.shown()

    def rewrite(self, *lines: str) -> str:
        """Replace the text by these lines, save, and return the text shown for the save."""
        self.typed(":DD")
        for line in lines:
            self.typed(line)
        return self.typed(":w")

    @property
    def is_open(self) -> bool:
        return self.tom.ndb._eveditor is not None


class TestTexts(EditorTest):
    def test_settings_that_are_texts(self) -> None:
        """An empty text unsets the setting."""
        for what in ("persona", "system_prompt", "system_prompt_native", "failure_line"):
            self.edit(what)
            self.rewrite("You are {name}.", "Be |rkind.")
            assert "You are {name}.\nBe |rkind." == state.read(self.ada_script, what), what
            self.typed(":q")
            assert "|rkind" in self.edit(what), what
            self.rewrite("")
            self.typed(":q!")
            assert not state.read(self.ada_script, what), what

    def test_what_is_not_set_begins_with_ours(self) -> None:
        assert "You keep the memory of a character" in self.edit("compact_prompt")
        self.typed(":q")
        assert "{name} thinks for a moment." in self.edit("thinking_lines")

    def test_lines_are_a_list(self) -> None:
        self.edit("thinking_lines")
        self.rewrite("{name} hums.", "", "{name} hums on.")
        expected = ["{name} hums.", "{name} hums on."]
        assert expected == list(state.read(self.ada_script, "thinking_lines"))

    def test_templates_components_and_contexts(self) -> None:
        for what, key, name in (
            ("template", "stern", "prompt_templates"),
            ("component", "250 mood", "prompt_components"),
            ("context component", "tick_event 250", "context_configs"),
        ):
            shown = self.edit(what, key)
            assert f"Ada, {what} {key}" in shown, what
            self.rewrite(f"You are {{name}}, {what}.", "Always.")
            self.typed(":q")
            assert f"{what}.\nAlways." in str(text_of(self.ada_script, what, key).data.text)
            assert state.read(self.ada_script, name), what
        assert "component.\nAlways." in text_of(self.ada_script, "component", "250").data.text
        self.edit("component", "250")
        self.rewrite("Sad.")
        stored = state.read(self.ada_script, "prompt_components")[250]
        assert ("mood", "Sad.") == (stored["key"], stored["content"])

    def test_what_is_no_text_is_said(self) -> None:
        for what, key, expected in (
            ("shoes", None, f"There is no text 'shoes' to edit; there are: {', '.join(TEXTS)}."),
            ("template", "two words", "'two words' does not work: a template needs its key"),
            ("component", "mood", "'mood' does not work: a component needs its number"),
            ("context component", "noon 250", "'noon 250' does not work: a text of a context"),
            ("context component", "tick_event", "'tick_event' does not work"),
        ):
            assert self.edit(what, key).startswith(expected), what
            assert not self.is_open
        refused = set_text(self.ada_script, "shoes", "", "red")
        assert not refused.ok

    def test_blanks_around_a_key_do_not_count(self) -> None:
        assert set_text(self.ada_script, "component", "  250  mood ", "Glad.").ok
        assert "mood" == state.read(self.ada_script, "prompt_components")[250]["key"]

    def test_wrong_prompts_are_said(self) -> None:
        """The fault may be in another stored text than the edited one."""
        state.write(self.ada_script, prompt_components={250: {}})
        shown = self.edit("template", "stern")
        assert shown.startswith("The prompts of Ada cannot be read: prompt_components[250]")


class TestRefusals(EditorTest):
    def test_a_text_that_makes_no_prompt_stays_in_the_editor(self) -> None:
        self.edit("template", "stern")
        shown = self.rewrite("You are {nobody}.")
        assert "{nobody}, which is not known" in shown
        assert KEPT in shown.replace("\n", " ")
        self.typed(":r 1 You are {name}.")
        assert "Ada has the template stern." in self.typed(":wq")
        assert not self.is_open

    def test_saving_on_the_way_out_does_not_leave_when_it_is_refused(self) -> None:
        """`:wq` and the question of `:q` both save first; `:q!` leaves at once."""
        self.edit("template", "stern")
        self.rewrite("You are {nobody}.")
        assert KEPT in self.typed(":wq")
        assert self.is_open
        self.typed(":q")
        assert KEPT in self.typed("yes")
        assert self.is_open
        assert "You are {nobody}." in self.typed(":")
        self.typed(":w")
        assert "Left the editor." in self.typed(":q!")
        assert not self.is_open

    def test_an_empty_prompt_is_refused(self) -> None:
        self.edit("template", "stern")
        self.typed("x")
        assert "Nothing is changed: a template needs a text." in self.rewrite("")
        self.typed(":q!")
        self.edit("component", "250")
        assert "Nothing is changed: component 250 is new; " in self.rewrite("Sad.")

    def test_rights_are_asked_again_at_each_save(self) -> None:
        """The right may have been taken away while the editor was open."""
        self.edit("persona")
        self.typed("Ada is a pirate.")
        self.lock_out()
        assert f"{REFUSED_SETTINGS} {KEPT}" in self.typed(":w")
        assert "" == state.read(self.ada_script, "persona")
        self.typed(":q!")
        assert REFUSED_SETTINGS == self.edit("persona")
        assert not self.is_open

    def test_an_assistant_that_is_gone(self) -> None:
        self.edit("persona")
        self.typed("Ada is a pirate.")
        self.ada_script.delete()
        assert "That assistant is gone; nothing is saved." in self.typed(":w")
        assert "Ada is a pirate." in self.typed(":")
        self.typed(":q!")
        assert [] == operations.list_assistants()


class TestReload(EditorTest):
    def reload(self) -> None:
        """Clear the state in memory of Tom, as a reload of the server does."""
        self.tom.nattributes.clear()
        self.tom.cmdset.update(init_mode=True)

    def test_the_text_and_the_way_to_save_it(self) -> None:
        self.edit("template", "stern")
        self.typed("You are {nobody}.")
        self.reload()
        assert "You are {nobody}." in self.typed(":")
        assert KEPT in self.typed(":wq")
        assert self.is_open
        self.typed(":r 1 You are {name}.")
        self.typed(":wq")
        assert not self.is_open
        assert "You are {name}." == state.read(self.ada_script, "prompt_templates")["stern"]

    def test_an_assistant_that_went_meanwhile(self) -> None:
        self.edit("persona")
        self.typed("Ada is a pirate.")
        self.reload()
        self.ada_script.delete()
        shown: Any = self.typed(":w")
        assert "That assistant is gone; nothing is saved." in shown
        self.typed(":q!")
