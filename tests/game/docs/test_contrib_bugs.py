"""Defects of Evennia's own llm contrib that this package must not have, by their letters."""

from evennia_ai.errors import ModelTimeoutError
from evennia_ai.llm.scripted import completion
from tests.game.listening import HearingTest
from tests.game.support import pump, says, whispers

SORRY = "my thoughts won't settle"


class TestContribBugs(HearingTest):
    def test_a_a_reply_that_holds_braces_is_said(self) -> None:
        """a: `{"tool": 1}` in a reply raised KeyError, and nothing was said."""
        for reply in ('it is {"tool": 1}', "a {tool} and {0}", "{", "}", "{{x}}", "%s {actor!r}"):
            with self.subTest(reply=reply):
                self.forget()
                self.ask("say @ada speak", says(reply))
                assert [f'Ada says, "{reply}"'] == self.mira.heard_from(self.ada)
                self.forget()
                self.ask("whisper Ada = speak", whispers(reply))
                assert [f'Ada whispers: "{reply}"'] == self.tom.heard_from(self.ada)

    def test_b_a_question_that_holds_braces_is_heard(self) -> None:
        """b: `{this}` in a player's line showed the player a traceback."""
        for words in ("what is {this}?", "{0} {} {x!r}", "{", "100 % {sure}"):
            for line in (f"whisper Ada = {words}", f"say @ada {words}"):
                with self.subTest(line=line):
                    self.forget()
                    self.ask(line, completion(None, ("noop", {})))
                    assert words in self.heard().body
                    assert not any("Traceback" in text for text in self.tom.seen)
                    assert words in self.prompt()

    def test_c_functions_in_a_reply_are_not_run(self) -> None:
        """c: `$You()` and `$pconj(go)` in a reply were evaluated."""
        reply = "$You() $conj(go) $pconj(go) $pron(you) $You(actor) $eval(1+1)"
        self.ask("say @ada speak", says(reply))
        self.ask("say @ada act", completion(None, ("emote", {"action": reply})))
        self.ask("whisper Ada = speak", whispers(reply))
        assert [
            f'Ada says, "{reply}"',
            f"Ada {reply}",
            f'Ada whispers: "{reply}"',
        ] == self.tom.heard_from(self.ada)

    def test_d_names_and_equal_signs_are_read_as_they_are_written(self) -> None:
        """d: `talk old man = hello` went to "old", `talk bob what goes=up` to "bob what goes"."""
        _, old_man = self.make("Old Man")
        self.ask("whisper Old Man = hello", whispers("Hm."))
        assert ['Old Man whispers: "Hm."'] == self.tom.heard_from(old_man)
        self.type(self.tom, "whisper Ada = what goes=up")
        assert "what goes=up" == self.heard().body
        self.type(self.tom, "say @ada what goes=up")
        assert "@ada what goes=up" == self.heard().body

    def test_e_an_answer_of_another_shape_is_a_failure_that_is_told(self) -> None:
        """e: a 200 with other JSON, or with HTML, was an unhandled error."""
        for body in (b'{"results": [{"text": "hi"}]}', b"<html>busy</html>", b"", b"[]", b"null"):
            with self.subTest(body=body):
                self.forget()
                self.ask("whisper Ada = hello", body)
                (shown,) = self.tom.heard_from(self.ada)
                assert SORRY in shown
                self.ada_script.clear_emergency_stop()
                self.set(consecutive_errors=0)

    def test_f_a_server_that_hangs_is_given_up(self) -> None:
        """f: a server that never answered left the player without any reply."""
        self.type(self.tom, "whisper Ada = hello")
        (waiting,) = self.model.waiting
        waiting.errback(ModelTimeoutError("no whole answer within 60 s"))
        pump()
        assert SORRY in self.tom.heard_from(self.ada)[-1]
        assert [] == self.waiting()

    def test_g_plain_speech_is_heard_and_she_can_be_switched_off(self) -> None:
        """g: `say` was not heard, and there was no off switch, limit, tool or retry."""
        self.ask("say @ada hello", says("Hello."))
        assert ['Ada says, "Hello."'] == self.mira.heard_from(self.ada)
        self.set(enabled=False)
        self.type(self.tom, "say @ada hello")
        assert 1 == len(self.model.bodies)
