"""The page of the prompt: texts are saved only after their difference was shown."""

import html
import re
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from evennia_ai.core.text.difference import Piece, PieceKind, difference
from evennia_ai.core.turn.contexts import ContextType
from evennia_ai.operations.models import prompts, shown_prompts, texts
from evennia_ai.runtime import state
from tests.browser.cases import CASES
from tests.web.support import WebTest, intruders, text_of

WORDS = st.text(alphabet="ab \n.é<", max_size=60)


@given(WORDS, WORDS)
def test_a_difference_has_both_texts_in_it(old: str, new: str) -> None:
    """The old and the new text can be rebuilt from its pieces."""
    pieces = difference(old, new)
    assert old == "".join(p.text for p in pieces if p.kind is not PieceKind.NEW)
    assert new == "".join(p.text for p in pieces if p.kind is not PieceKind.GONE)
    assert all(a.kind is not b.kind for a, b in pairwise(pieces))
    assert (old == new) is all(piece.kind is PieceKind.SAME for piece in pieces)


def test_a_difference_is_of_words() -> None:
    gone, new, same = PieceKind.GONE, PieceKind.NEW, PieceKind.SAME
    assert (
        Piece(same, "You keep "),
        Piece(gone, "maps"),
        Piece(new, "lamps"),
        Piece(same, ".\nHum."),
    ) == difference("You keep maps.\nHum.", "You keep lamps.\nHum.")


class PromptTest(WebTest):
    def look(self, what: str, text: str, **form: Any) -> Any:
        return self.post("text-difference", {"what": what, "text": text, **form}, key="Ada")

    def save(self, response: Any, **changes: Any) -> Any:
        body = response.content.decode().split('action="/ai/assistants/Ada/prompt/set-text/"')[1]
        body = body.split("</form>")[0]
        fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', body))
        text = body.split('name="text" hidden>\n')[1].split("</textarea>")[0]
        form = {name: html.unescape(value) for name, value in {**fields, "text": text}.items()}
        return self.post("set-text", {**form, **changes}, key="Ada")


class LookingTest(PromptTest):
    def test_the_next_prompt_in_every_context(self) -> None:
        for context in ContextType:
            query = {"context": str(context)}
            shown = text_of(self.get("prompt", query=query, key="Ada"))
            owner = self.people["owner"]
            sizes = shown_prompts.show_prompt(self.ada_script, owner, context=context).data
            whole = shown_prompts.show_prompt(
                self.ada_script, owner, is_whole=True, context=context
            ).data
            assert f"{sizes['total']:,} tokens" in shown
            for message in whole["messages"]:
                words = " ".join(str(message["content"] or "").split())[:200]
                assert words in shown
        body = self.get("prompt", key="Ada").content.decode()
        sizes = shown_prompts.show_prompt(self.ada_script, self.people["owner"]).data
        for number, tokens in sizes["tokens"].items():
            if tokens and number >= 0:
                assert f'<td class="number">{tokens:,}</td>' in body

    def test_an_unknown_context_is_the_ordinary_one(self) -> None:
        shown = text_of(self.get("prompt", query={"context": "<b>"}, key="Ada"))
        assert "The context tick_event" in shown

    def test_nobody_elses_private_words_are_in_it(self) -> None:
        """Whispers of others are in no context, whoever looks."""
        self.ask("whisper ada = my secret is plumage", person=self.mira)
        state.write(self.ada_script, prompt_components={250: {"key": "mood", "content": "Glad."}})
        for context in ContextType:
            body = self.get("prompt", query={"context": str(context)}, key="Ada").content.decode()
            assert "plumage" not in body

    def test_a_builder_looks_only(self) -> None:
        """The only button left is the one that shows another context."""
        body = self.get("prompt", who="builder", key="Ada").content.decode()
        assert "semantic_memories" in body
        assert "<button" in body
        assert 'method="post"' not in body


class EditingTest(PromptTest):
    def test_the_difference_is_seen_before_it_is_saved(self) -> None:
        self.ada_script.db.persona = "You keep maps."
        response = self.look("persona", "You keep <lamps>.\r\n\r\nHum.")
        body = response.content.decode()
        assert 200 == response.status_code
        assert "<del><span" in body
        assert "[new: </span>&lt;lamps&gt;<span" in body
        assert "[gone: </span>maps<span" in body
        assert "You keep maps." == state.read(self.ada_script, "persona")
        shown = text_of(self.save(response))
        assert "persona is" in shown
        assert "You keep <lamps>.\n\nHum." == state.read(self.ada_script, "persona")

    def test_nothing_new_is_said_so(self) -> None:
        self.ada_script.db.persona = "You keep maps."
        shown = text_of(self.look("persona", "You keep maps."))
        assert "Nothing would change." in shown
        assert "Save it" not in shown

    def test_what_somebody_else_saved_meanwhile_is_not_lost(self) -> None:
        """The confirmation was for another difference, so the new one is shown first."""
        response = self.look("persona", "You keep lamps.")
        texts.set_text(self.ada_script, "persona", "", "You keep bees.")
        response = self.save(response)
        assert 409 == response.status_code
        assert "someone has changed the persona in the meantime" in text_of(response)
        assert "[gone: </span>bees" in response.content.decode()
        assert "You keep bees." == state.read(self.ada_script, "persona")
        self.save(response)
        assert "You keep lamps." == state.read(self.ada_script, "persona")

    def test_a_text_that_no_prompt_can_be_made_with_is_refused(self) -> None:
        response = self.save(self.look("component", "So {much}.", key="250 mood"))
        assert 400 == response.status_code
        assert "{much}, which is not known" in text_of(response)
        assert "\nSo {much}.</textarea>" in response.content.decode()
        response = self.look("nonsense", "x")
        assert 400 == response.status_code
        assert "There is no text 'nonsense' to edit" in text_of(response)
        response = self.look("persona", "x" * 20_001)
        assert "must have at most 20,000" in text_of(response)
        assert "x" * 20_001 in response.content.decode()

    def test_a_part_of_its_own(self) -> None:
        self.save(self.look("component", "You are glad.", key="250 mood"))
        assert "You are glad." in text_of(self.get("prompt", key="Ada"))
        whole = shown_prompts.show_prompt(self.ada_script, self.tom, is_whole=True)
        assert "You are glad." in whole.message
        self.post("switch-component", {"number": "250", "to": "off"}, key="Ada")
        whole = shown_prompts.show_prompt(self.ada_script, self.tom, is_whole=True)
        assert "You are glad." not in whole.message
        self.post("switch-component", {"number": "250", "to": "on"}, key="Ada")
        edit = text_of(self.get("prompt", query={"edit": "component", "key": "250"}, key="Ada"))
        assert "Edit: component 250" in edit
        self.post("delete-component", {"number": "250"}, key="Ada")
        assert {} == state.read(self.ada_script, "prompt_components")
        response = self.post("delete-component", {"number": "<i>"}, key="Ada")
        assert "'<i>' is not the number of a component" in text_of(response)

    def test_templates(self) -> None:
        self.save(self.look("template", "You are {name}, and stern.", key="stern"))
        self.post("apply-template", {"template": "stern"}, key="Ada")
        assert "stern" == state.read(self.ada_script, "applied_template")
        shown = text_of(self.get("prompt", key="Ada"))
        assert "stern : applied (its own)" in shown.replace("stern:", "stern :")
        assert 400 == self.post("delete-template", {"template": "stern"}, key="Ada").status_code
        self.post("apply-template", {"template": "default"}, key="Ada")
        self.post("delete-template", {"template": "stern"}, key="Ada")
        assert {} == state.read(self.ada_script, "prompt_templates")

    def test_contexts(self) -> None:
        path = "context_configs.reflection.max_iterations"
        form = {f"set:{path}": "3", "context": "reflection"}
        response = self.post("set-context", form, key="Ada")
        assert response.redirect_chain[-1][0].endswith("?context=reflection")
        assert {"reflection": {"max_iterations": 3}} == state.read(
            self.ada_script, "context_configs"
        )
        assert "reflection (1 set)" in text_of(response)
        self.save(self.look("context component", "Your aims: {goals}", key="tick_event 4000"))
        own = state.read(self.ada_script, "context_configs")["tick_event"]
        assert {"component_overrides": {4000: "Your aims: {goals}"}} == own
        self.post("reset-context", {"context": "reflection"}, key="Ada")
        assert ["tick_event"] == list(state.read(self.ada_script, "context_configs"))

    def test_undo_and_redo(self) -> None:
        self.save(self.look("persona", "You keep lamps."))
        self.post("prompt-undo", key="Ada")
        assert not state.read(self.ada_script, "persona")
        self.post("prompt-redo", key="Ada")
        assert "You keep lamps." == state.read(self.ada_script, "persona")

    def test_hostile_texts_are_read_as_they_are(self) -> None:
        for case in CASES:
            looked = self.look("persona", case.written)
            self.ada_script.db.persona = case.written
            for response in (
                looked,
                self.get("prompt", query={"edit": "persona"}, key="Ada"),
                self.get("prompt", query={"edit": case.written}, key="Ada"),
            ):
                assert [] == intruders(response), case.name

    def test_lists_are_values_too(self) -> None:
        state.write(self.ada_script, prompt_components={250: {"key": "mood", "content": "Glad."}})
        rows = {row["number"]: row for row in prompts.list_components(self.ada_script).data}
        assert rows[250]["is_own"]
        assert rows[250]["is_written"]
        assert not rows[0]["is_written"]
        (default,) = prompts.list_templates(self.ada_script).data
        assert ("default", True, False) == (
            default["key"],
            default["is_applied"],
            default["is_own"],
        )
