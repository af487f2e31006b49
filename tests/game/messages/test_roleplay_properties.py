"""Random casts and talks of a game with masks: no hidden key reaches a prompt or a player."""

import json
from dataclasses import asdict
from typing import Any

import evennia
from django.test import override_settings
from hypothesis import given
from hypothesis import strategies as st

from evennia_ai import operations
from evennia_ai.llm.scripted import completion
from evennia_ai.memory import forgetting
from evennia_ai.runtime import names, services
from evennia_ai.runtime.turns import aside
from tests.game.messages.rp_world import RoleGolem, RolePlayer, RolePlayTest, Talkative, prompt_of
from tests.game.support import ANY_TOKENS, says, whispers

# Words that occur nowhere else, so that one in a text is a key.
KEYS = {"tom": "Quillon", "mira": "Zephira", "guard": "Yorrick", "golem": "Bazaltus"}
SDESCS = ("a tall man", "an old sailor", "a very small, very loud child", "a hooded stranger")
MASKS = ("a grinning wolf", "a hooded stranger")
RECOGS = ("Red", "the captain", "Grumpy")
LINES = (
    *("say {it}, hello", "say @{it} who is here?", "say {golem}, do you know {other}?"),
    *("whisper {it} = who stands beside me?", "whisper {other} = psst", "page {it} = hello"),
    *("emote nods to /{golem} and to /{other}", "pose leans on the wall", "say good day"),
    *("mask {mask}", "unmask", "recog {other} as {recog}", "look {it}", "look"),
    *("assistant", "assistant why {it}", "assistant memory {it}", "assistant mute {it}"),
    *("assistant unmute {it}", "hush {it} 1", "unhush {it}", "assistant memory export {it}"),
    *("assistant forget 99 {it}", "assistant memory correct 1 = I sail.", "assistant questions"),
    *("leave", "@{it} good day", "assistant config {it}", "assistant why nobody"),
)
# Lines that every player types at the end.
LISTS = (
    *("assistant", "assistant why {it}", "assistant memory {it}", "assistant memory nobody"),
    *("assistant mute {it}", "whisper {it} = hello?", "assistant unmute {it}", "hush {it} 1"),
    *("say @{it} hello", "unhush {it}", "page {it} = hello", "assistant memory off {it}"),
    *("assistant memory on {it}", "assistant forget 99999999 {it}", "assistant start {it}"),
)
PEOPLE = ("tom", "mira", "guard")
CAST = st.fixed_dictionaries({who: st.sampled_from(SDESCS) for who in KEYS})
KNOWN = st.lists(st.tuples(st.sampled_from([*KEYS]), st.sampled_from(PEOPLE)), max_size=4)
ACTS = st.lists(
    st.tuples(st.sampled_from(PEOPLE), st.sampled_from(LINES), st.integers(0, 5)),
    min_size=1,
    max_size=8,
)


def tool(name: str, **arguments: Any) -> bytes:
    return completion(None, (name, arguments))


@override_settings(EVENNIA_AI_BUDGET_CONFIG=ANY_TOKENS)
class TestNoKey(RolePlayTest):
    """Characters in masks, and some who were introduced to nobody."""

    golem_key = KEYS["golem"]

    def setUp(self) -> None:
        """A cast of three, two assistants, and a model that looks at everybody and tells all."""
        super().setUp()
        self.guard = self.create(RolePlayer, "Guard")
        self.cast = {who: getattr(self, who) for who in KEYS}
        for who, key in KEYS.items():
            self.cast[who].key = key
        self.model = Talkative(
            tool("inspect_location", detail_level="full"),
            says("Good day to you all."),
            tool("look", target="stranger"),
            tool("who_is_here"),
            whispers("Between us.", "nobody here"),
            tool("emote", action="looks at everybody."),
            tool("search_objects", query="man"),
            tool("whisper", target="tall man", message="And who are you?"),
            completion("I am at your service."),
            tool("look"),
            tool("page", target="old sailor", message="A word?"),
            tool("store_memory", text="Somebody here likes the sea."),
        )
        services.pool().set_transport(services.endpoint(), self.model)

    def create(self, typeclass: type, key: str) -> Any:
        being, _ = typeclass.create(key, None, location=self.room1)
        return being

    def test_no_key_reaches_a_prompt_a_list_or_a_line(self) -> None:
        @given(CAST, KNOWN, ACTS)
        def check(sdescs: dict[str, str], known: Any, acts: Any) -> None:
            self.dress(sdescs, known)
            for who, line, number in acts:
                self.act(self.cast[who], line, number)
            self.settle()
            for name in ("tom", "mira"):
                self.check_lists(name)
            self.check_prompts()
            self.check_lines()

        check()

    # ---- actions -------------------------------------------------------------------------------

    def dress(self, sdescs: dict[str, str], known: Any) -> None:
        """Give everybody a description and names for some others, and forget all that was said."""
        self.forget()
        evennia.SESSION_HANDLER.data_out.reset_mock()
        self.model.begin()
        self.guard.ndb.messages, self.golem.ndb.messages = [], []
        for who, being in self.cast.items():
            if being.location != self.room1:
                being.location = self.room1
            being.attributes.remove("unmasked_sdesc")
            being.locks.remove("enable_recog")
            for other in self.cast.values():
                being.recog.remove(other)
            being.sdesc.add(sdescs[who])
        for number, (who, whom) in enumerate(known):
            self.cast[who].recog.add(self.cast[whom], RECOGS[number % len(RECOGS)])
        for script in (self.golem_script, self.ada_script):
            aside.reset_history(script)
            forgetting.forget_all(script)

    def act(self, being: Any, line: str, number: int) -> None:
        """Let somebody type a line, or go out and come back."""
        if line == "leave":
            being.move_to(self.room2)
            being.move_to(self.room1)
            return
        others = [other for other in self.cast.values() if other is not being]
        body = (self.golem, self.ada)[number % 2]
        filled = line.format(
            it=names.called(body, being)[-1],
            golem=names.called(self.golem, being)[-1],
            other=names.called(others[number % len(others)], being)[0],
            mask=MASKS[number % len(MASKS)],
            recog=RECOGS[number % len(RECOGS)],
        )
        self.type(being, filled)
        self.clock.advance(1)

    # ---- checks --------------------------------------------------------------------------------

    def check_prompts(self) -> None:
        """Check that a prompt has no key but the assistant's own."""
        for body in self.model.bodies:
            prompt = prompt_of(body)
            is_golems = "You are Bazaltus" in prompt
            hidden = {key for who, key in KEYS.items() if not (is_golems and who == "golem")}
            assert not {key for key in hidden if key in prompt}, prompt

    def check_lines(self) -> None:
        """Check that everybody reads no key but one's own."""
        for who in PEOPLE:
            text = "\n".join(self.cast[who].seen)
            assert not {key for key in KEYS.values() if key in text} - {KEYS[who]}, text
        sent = repr(evennia.SESSION_HANDLER.data_out.call_args_list)
        assert KEYS["golem"] not in sent, "a line to an account"

    def check_lists(self, who: str) -> None:
        """Check that what is kept of a player has no key at all, as it is sent to programs."""
        being = self.cast[who]
        for script in (self.golem_script, self.ada_script):
            known = operations.what_is_known(script, being.account)
            export = operations.export_known(script, being.account).data
            memories = [row["text"] for row in export.memories]
            text = json.dumps([known.message, asdict(known.data), memories, export.conversation])
            assert not {key for key in KEYS.values() if key in text}, text
            assert KEYS["golem"] != export.assistant
            for line in LISTS:
                self.type(being, line.format(it=names.called(script.obj, being)[-1]))


def test_the_cast_is_of_the_game() -> None:
    """The body of one assistant is a player's class with ears, and so knows descriptions."""
    assert issubclass(RoleGolem, RolePlayer)
