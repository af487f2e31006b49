"""A failing model: one line for the player, the cause for staff, and consecutive errors."""

from typing import Any
from unittest import mock

from django.test import override_settings
from evennia.utils.create import create_account

from evennia_ai import audit, operations
from evennia_ai.agent import compaction
from evennia_ai.errors import ModelReplyError, ModelStatusError
from evennia_ai.llm.scripted import completion
from evennia_ai.runtime import state
from evennia_ai.testing import calls
from tests.game.support import NOT_A_COMPLETION, GameTest, pump, says, whispers

HELLO = {"target": "Tom", "message": "Hello."}
SORRY = (
    "Ada looks away for a moment. "
    '"Forgive me, my thoughts won\'t settle. Try me again in a minute."'
)


class TestFailure(GameTest):
    def test_the_player_gets_one_line_in_character(self) -> None:
        for answer in (
            NOT_A_COMPLETION,
            b"<html>",
            ModelStatusError(401, "no"),
            RuntimeError("bug"),
        ):
            with self.subTest(answer=answer):
                self.forget()
                operations.clear(self.ada_script)
                self.ask("whisper Ada = hello", answer)
                assert [SORRY] == self.tom.heard_from(self.ada)
                assert [] == self.mira.seen
                assert [] == self.waiting()

    def test_an_answer_is_no_failure_afterwards(self) -> None:
        """A model that was taken away meanwhile only keeps the talk from being summed up."""
        used = {"prompt_tokens": 70, "completion_tokens": 7}
        with mock.patch.object(compaction, "is_due", return_value=True):
            self.type(self.tom, "whisper Ada = hello")
            self.ada_script.db.llm_provider = "nonsense"
            self.model_answers(completion(None, ("whisper", HELLO), usage=used))
        assert ['Ada whispers: "Hello."'] == self.tom.heard_from(self.ada)
        work, usage = self.ada_script.work, state.read(self.ada_script, "usage")
        assert (1, 70, 3) == (usage["calls"], usage["prompt_tokens"], len(work.history))
        assert 0 == state.read(self.ada_script, "consecutive_errors")

    def test_lines_that_cannot_be_shown_end_only_this_turn(self) -> None:
        state.write(self.ada_script, thinking_lines=5)
        self.ask("whisper Ada = hello")
        assert [SORRY] == self.tom.heard_from(self.ada)
        state.write(self.ada_script, thinking_lines=[])
        self.ask("whisper Ada = hello again", whispers("Hello."))
        assert 'Ada whispers: "Hello."' == self.tom.heard_from(self.ada)[-1]

    def test_staff_see_the_cause(self) -> None:
        self.ask("whisper Ada = hello", whispers("Hello."))
        self.ask("whisper Ada = hello", ModelStatusError(400, "HTTP 400: no |rfit"))
        (text,) = self.sent_to_staff()
        line, detail = text.split("\n")
        assert line.endswith(
            "Ada could not answer Tom: the model, or the way to it, failed. Tom was told. After 4 "
            "more failures in a row it stops itself. Look: assistant check Ada"
        )
        assert "  llm_error, HTTP 400: no ||rfit (1 of 5 errors in a row)" == detail

    @override_settings(EVENNIA_AI_BUDGET_CONFIG={"game": {"cost_per_day": 1.0}})
    def test_staff_see_that_a_setting_is_missing(self) -> None:
        """No model failed: it was not even asked."""
        endpoint = {"EVENNIA_AI_MODEL": "m", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
        with mock.patch.dict("os.environ", endpoint):
            self.ask("whisper Ada = hello")
        (text,) = self.sent_to_staff()
        line, detail = text.split("\n")
        assert "Ada could not answer Tom: a setting is wrong or missing. Tom was told." in line
        assert line.endswith("Look: assistant check Ada")
        assert detail.startswith("  wrong_setting, no price is set for the model 'custom/m'")

    def test_a_broken_hook_of_the_game_keeps_it_from_nobody_else(self) -> None:
        """The turn ends as without it, and counts as one error."""
        other = create_account("Nell", "", "testpassword")
        other.permissions.add("Admin")
        texts: list[str] = []
        online = [mock.Mock(get_account=lambda each=each: each) for each in (self.account, other)]
        broken = mock.Mock(side_effect=RuntimeError("of the game"))
        with (
            mock.patch.object(self.account, "msg", broken),
            mock.patch.object(other, "msg", texts.append),
            mock.patch("evennia.SESSION_HANDLER.get_sessions", return_value=online),
        ):
            self.ask("whisper Ada = hello", completion(" "))
        assert broken.called
        assert "Ada could not answer Tom" in texts[0]
        assert [] == self.waiting()
        assert 1 == state.read(self.ada_script, "consecutive_errors")

    def test_what_locks_nobody_is_not_counted_before_staff(self) -> None:
        """An answer without choices does not count, even after a failure that does."""
        self.ask("whisper Ada = hello", completion(" "))
        self.ask("whisper Ada = hello", b'{"choices": []}')
        text = self.sent_to_staff()[-1]
        assert text.endswith("llm_error, the answer's list of choices is empty (it locks nobody)")
        assert "stops itself" not in text

    def test_people_who_are_no_staff_do_not(self) -> None:
        self.account.permissions.clear()
        self.ask("whisper Ada = hello", NOT_A_COMPLETION)
        assert [] == self.sent_to_staff()

    def test_she_has_her_own_words_for_it(self) -> None:
        self.make("Edda", lines={"failure": "{name} coughs {0}."})
        self.ask("whisper Edda = hello", NOT_A_COMPLETION)
        assert "Edda coughs {0}." in self.tom.seen

    def test_a_failed_question_is_not_in_the_conversation(self) -> None:
        self.ask("whisper Ada = one", NOT_A_COMPLETION)
        self.ask("whisper Ada = two", whispers("Two."))
        roles = [message["role"] for message in self.model.bodies[1]["messages"]]
        assert ["system", "user"] == roles

    def test_a_model_that_says_nothing_is_a_failure(self) -> None:
        self.ask("whisper Ada = hello", completion("", finish_reason="length"))
        assert [SORRY] == self.tom.heard_from(self.ada)
        (text,) = self.sent_to_staff()
        expected = "the model answered with neither text nor a tool call (finish reason length)"
        assert f"parse_error, {expected}" in text

    def test_a_model_that_never_gets_it_right_is_a_failure(self) -> None:
        """After the step limit the last mistake is reported as the cause."""
        state.write(self.ada_script, safety_config={"on_limit": {"mode": "unattended"}})
        wrong = [whispers("Hello.", f"Nobody {number}") for number in range(5)]
        self.ask("whisper Ada = hello", *wrong, completion(""))
        assert 6 == len(self.model.bodies)
        assert [SORRY] == self.tom.heard_from(self.ada)
        (text,) = self.sent_to_staff()
        assert "max_iterations, limit max_iterations reached: 5 steps a tick (the mode" in text
        assert "the last call failed: (57 characters)" in text, "it was whispered, and so is masked"

    def test_a_model_that_makes_one_mistake_again_and_again_is_stopped(self) -> None:
        """The fourth equal failure ends the turn; a second person's locks the assistant."""
        for person in (self.tom, self.mira):
            self.ask("whisper Ada = hello", *[whispers("Hello.", "Nobody")] * 4, person=person)
            assert 1 == len(person.heard_from(self.ada))
        assert 8 == len(self.model.bodies)
        assert "repeat" == state.read(self.ada_script, "lockout")["cause"]

    def test_a_setting_that_is_wrong_is_a_failure_with_its_name(self) -> None:
        for name, value, expected in (
            ("llm_provider", "opnai", "llm_provider is 'opnai'; it must be one of openai, "),
            ("execution_config", {"speed": 9}, "execution_config has no key 'speed'"),
        ):
            with self.subTest(name=name):
                self.forget()
                before = state.read(self.ada_script, name)
                state.write(self.ada_script, **{name: value})
                self.type(self.tom, "whisper Ada = hello")
                assert [SORRY] == self.tom.heard_from(self.ada)
                assert expected in self.sent_to_staff()[-1]
                state.write(self.ada_script, **{name: before})


class TestInARow(GameTest):
    """Consecutive errors, with locking at once instead of cooling off."""

    def setUp(self) -> None:
        super().setUp()
        state.write(self.ada_script, safety_config={"cooling": {"mode": "lock"}})

    def _errors(self) -> Any:
        return state.read(self.ada_script, "consecutive_errors")

    def test_five_stop_her(self) -> None:
        for number in range(1, 5):
            self.ask("whisper Ada = hello", completion(" "))
            assert (number, False) == (
                self._errors(),
                state.read(self.ada_script, "emergency_stop"),
            )
        self.ask("whisper Ada = hello", completion(" "))
        assert state.read(self.ada_script, "emergency_stop")
        cause = "Maximum consecutive errors reached (5)"
        words = "Ada has locked itself: too many ticks in a row failed."
        texts = [text for text in self.sent_to_staff() if words in text]
        assert f"locked (consecutive_errors): {cause}" in texts[0]
        self.type(self.tom, "whisper Ada = hello")
        assert 5 == len(self.model.bodies)

    def test_the_number_is_a_setting(self) -> None:
        state.write(self.ada_script, max_consecutive_errors=1)
        self.ask("whisper Ada = hello", completion(" "))
        assert state.read(self.ada_script, "emergency_stop")

    def test_an_answer_begins_the_count_anew(self) -> None:
        self.ask("whisper Ada = hello", completion(" "))
        self.ask("whisper Ada = hello", whispers("Hello."))
        assert 0 == self._errors()

    def test_a_tool_that_fails_is_no_turn_that_fails(self) -> None:
        """Turns that end with an answer count no error, however often their tools failed."""
        for turn in range(10):
            wishes = [("look", {"target": f"unicorn {turn}.{number}"}) for number in range(4)]
            self.ask("whisper Ada = hello", completion(None, *wishes), whispers("There is none."))
        assert (0, False) == (self._errors(), state.read(self.ada_script, "emergency_stop"))
        assert {"look": 40} == state.read(self.ada_script, "metrics")["tool_errors"]
        assert "There is none." in self.tom.heard_from(self.ada)[-1]

    def test_steps_that_bring_nothing_are_one_failure(self) -> None:
        """A turn counts if all its tools fail until the limit and no last answer comes."""
        config = {"cooling": {"mode": "lock"}, "on_limit": {"mode": "unattended"}}
        state.write(self.ada_script, safety_config=config)
        wishes = [calls("look", target=f"unicorn {number}") for number in range(5)]
        for expected, steps, last_word in (
            (1, wishes, " "),
            (1, [calls("look"), *wishes[1:]], " "),  # one tool call succeeds
            (2, wishes, " "),
            (0, wishes, "I found none."),  # the player gets an answer
        ):
            self.ask("whisper Ada = hello", *steps, completion(last_word))
            assert expected == self._errors()


class TestThinking(GameTest):
    """Lines shown in the room while an answer takes its time."""

    def _lines_at(self, *seconds: float) -> list[int]:
        """Number of lines that Mira has seen after each of these seconds."""
        counts, now = [], 0.0
        for second in seconds:
            self.clock.advance(second - now)
            now = second
            counts.append(len(self.mira.heard_from(self.ada)))
        return counts

    def test_she_is_seen_thinking_after_two_seconds_and_then_every_six(self) -> None:
        self.ask("whisper Ada = hello")
        assert [0, 1, 1, 2, 2, 3] == self._lines_at(1.9, 2, 7.9, 8, 13.9, 14)
        assert "Ada thinks for a moment." == self.tom.heard_from(self.ada)[0]

    def test_it_ends_with_her_answer(self) -> None:
        self.ask("whisper Ada = hello")
        self.clock.advance(2)
        self.model_answers(whispers("Hello."))
        self.clock.advance(60)
        expected = ["Ada thinks for a moment.", 'Ada whispers: "Hello."']
        assert expected == self.tom.heard_from(self.ada)
        assert [] == self.clock.getDelayedCalls()

    def test_it_ends_with_her_failure_and_with_her_stop(self) -> None:
        for end in (
            lambda: self.model.fail(ModelReplyError("no")),
            lambda: self.ada_script.trigger_emergency_stop("enough"),
        ):
            self.ask("whisper Ada = hello")
            end()
            pump()
            self.clock.advance(0)
            audit.flush()
            assert [] == self.clock.getDelayedCalls()

    def test_a_quick_answer_shows_none(self) -> None:
        self.ask("whisper Ada = hello", whispers("Hello."))
        self.clock.advance(60)
        assert 1 == len(self.tom.heard_from(self.ada))

    def test_lines_come_in_turn_and_come_to_an_end(self) -> None:
        edda_script, edda = self.make(
            "Edda", lines={"thinking": ["{name} hums.", "{name} counts."]}
        )
        edda_script.clock = self.clock
        self.ask("whisper Edda = hello")
        for _ in range(200):
            self.clock.advance(1)
        assert ["Edda hums.", "Edda counts."] * 5 == self.mira.heard_from(edda)

    def test_thinking_starts_nobody_else(self) -> None:
        self.make("Brass")
        self.ask("say @ada hello")
        self.advance(10)
        assert 1 == len(self.model.bodies)
        self.model_answers(says("Hello."))
