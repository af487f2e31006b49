"""`assistant create`, `clone`, `delete`, `tell`, and the overview of assistants."""

import re
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

from django.test.utils import override_settings
from evennia.contrib.grid import wilderness

from evennia_ai import operations
from evennia_ai.commands import AssistantCmdSet
from evennia_ai.commands.tables import cropped_rows, short, span
from evennia_ai.core.safety.lockout import Cause
from evennia_ai.emergency import trigger_emergency_stop
from evennia_ai.runtime import state
from tests.game.support import GameTest, whispers
from tests.game.tasks.errand_case import reports_of

WIDE = 100


class LifeTest(GameTest):
    def setUp(self) -> None:
        """Keep archives away from the game's own files."""
        super().setUp()
        folder = self.enterContext(TemporaryDirectory())
        self.enterContext(override_settings(GAME_DIR=folder))
        for person in (self.tom, self.mira):
            person.cmdset.add(AssistantCmdSet)

    def assistant(self, line: str, *answers: str, caller: Any = None) -> str:
        person = caller or self.tom
        self.forget()
        for typed in (f"assistant {line}", *answers):
            self.type(person, typed)
        return "\n".join(person.seen)


class TestMade(LifeTest):
    def test_create_alone_opens_the_menu(self) -> None:
        assert "A new assistant" in self.assistant("create", "quit")
        assert 1 == len(operations.list_assistants())

    def test_a_clone_has_her_settings(self) -> None:
        state.write(self.ada_script, tick_rate=9, persona="Ada keeps books.")
        self.make("Old Tom")
        self.assistant("clone ada = New Ada")
        script: Any = operations.find_assistant("new ada")
        assert (9, self.room1) == (state.read(script, "tick_rate"), script.obj.location)
        self.assistant("clone old tom = Young Tom")
        assert operations.find_assistant("young tom") is not None

    def test_a_delete_asks_first(self) -> None:
        for answer in ("no", "", "perhaps"):
            shown = self.assistant("delete ada", answer)
            assert "Delete Ada? Its body, account," in shown
            assert "Ada stays as it was." in shown
            assert "Usage:" not in shown
            assert operations.find_assistant("ada") is not None
        shown = self.assistant("delete ADA", "yes")
        assert "Ada is deleted" in shown
        assert "archive" in shown
        assert operations.find_assistant("ada") is None

    def test_the_right_is_asked_again_after_the_answer(self) -> None:
        """A right lost before the answer, or an assistant deleted by then, ends in a message."""
        self.assistant("delete ada")
        self.ada.locks.add("ai_control:false()")
        self.account.is_superuser = False
        self.tom.locks.cache_lock_bypass(self.tom)
        self.type(self.tom, "yes")
        assert "You may not control Ada" in self.tom.seen[-1]
        self.ada.locks.add("ai_control:perm(Builder)")
        self.assistant("delete ada")
        self.ada_script.delete()
        self.type(self.tom, "yes")
        assert "There is no assistant named Ada." in self.tom.seen[-1]

    def test_who_may_not_is_not_asked(self) -> None:
        self.ada.locks.add(f"ai_control:id({self.mira.id})")
        self.account.is_superuser = False
        self.tom.locks.cache_lock_bypass(self.tom)
        shown = self.assistant("delete ada")
        assert "You may not control Ada" in shown
        assert "Delete Ada?" not in shown

    def test_delete_wants_a_name(self) -> None:
        """A name is needed even if there is only one assistant."""
        assert self.assistant("delete").startswith("Which assistant should be deleted?\nUsage:")


class TestTold(LifeTest):
    def test_what_comes_back_is_shown(self) -> None:
        for line in ("tell ada What is the time?", "tell ada = And now?"):
            self.model.answers.append(reports_of("|rNoon."))
            shown = self.assistant(line)
            assert "Ada has been told; you will see the result here.\nAda: |rNoon." == shown

    def test_one_who_is_stopped_does_nothing(self) -> None:
        operations.stop(self.ada_script, "test")
        assert "has been told" not in self.assistant("tell ada Dance.")
        assert 1 == len(self.tom.seen)
        assert [] == self.model.bodies


class TestOverview(LifeTest):
    def test_a_line_for_each_that_fits(self) -> None:
        """Long names are cut, and no line is wider than a client's window."""
        self.make("The Keeper of the Long Northern Gallery")
        with override_settings(
            EVENNIA_AI_BUDGET_CONFIG={
                "assistant": {"tokens_per_day": 200_000, "cost_per_day": 1, "cost_per_month": 20}
            }
        ):
            self.ask("whisper Ada = hello", whispers("Hello."))
            self.clock.advance(130)
            shown = self.assistant("")
        head, ada, keeper = shown.splitlines()
        assert ["Assistant", "State", "Idle", "Model", "Tokens", "today", "$", "today"] == (
            head.split()[:8]
        )
        for expected in (
            "Ada",
            "awake",
            "00:02:10",
            "scripted model",
            "/ 200k",
            "$0.00 / $1",
            "ok",
        ):
            assert expected in ada
        assert keeper.startswith("The Keeper of ..")
        assert max(map(len, shown.splitlines())) <= WIDE

    def test_what_needs_a_hand_stands_below(self) -> None:
        """A line for each says what to type; technical causes stand below it."""
        trigger_emergency_stop(self.ada_script, "dig, 4 times", cause=Cause.REPEAT)
        edda, _ = self.make("Edda")
        operations.set_enabled(edda, False)
        brass, body = self.make("Brass")
        body.location = None
        brass.db.hearing_config = {"cooldown": "often"}
        lines = self.assistant("list").splitlines()
        for expected in (
            r"Ada has locked itself: it kept .*\. To let it go on: assistant emergency clear Ada",
            r"    locked \(repeat\): dig, 4 times",
            r"Edda is silent. To let it answer: assistant start Edda",
            r"Brass is nowhere and needs a room\.",
        ):
            assert [line for line in lines if re.match(expected, line)], expected

    def test_a_place_in_the_wilderness_is_one_though_it_has_no_room(self) -> None:
        """The contrib takes the room away while no player is there, and brings it back."""
        wilderness.create_wilderness()
        wilderness.enter_wilderness(self.ada)
        place, self.ada.location = self.ada.location, None
        assert "nowhere" not in self.assistant("list")
        assert "where     the wilderness" in self.assistant("status ada")
        self.ada.location = place
        self.ada.move_to(self.room1)
        self.ada.location = None
        assert "Ada is nowhere and needs a room." in self.assistant("list")

    def test_the_row_has_the_whole_name_of_the_model_and_no_address(self) -> None:
        """Names at Ollama have a colon; an address was cut after "http"."""
        environ = {"EVENNIA_AI_MODEL": "qwen2.5:7b", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
        with mock.patch.dict("os.environ", environ):
            row = self.assistant("").splitlines()[1]
        assert " qwen2.5:7b  " in row
        assert "http" not in row

    def test_a_model_that_cannot_be_is_said_in_the_row(self) -> None:
        """Other wrong settings do not hide it."""
        state.write(self.ada_script, llm_provider="opnai")
        self.ada_script.db.budget_config = {"assistant": {"tokens_per_day": "many"}}
        row = self.assistant("").splitlines()[1]
        assert "not set up" in row
        assert "  ?  " in row


class TestFigures:
    def test_numbers(self) -> None:
        rows = ((0, "0"), (950, "950"), (41_200, "41.2k"), (200_000, "200k"), (2_000_000, "2M"))
        for number, shown in (*rows, (999_999, "1,000k"), (3_100_000_000, "3.1G")):
            assert shown == short(number)

    def test_spans(self) -> None:
        assert ["00:02:10", "23:59:59", "2d 03h"] == [span(n) for n in (130, 86_399, 183_600)]

    def test_columns(self) -> None:
        """One column takes the rest of the line."""
        shown = cropped_rows(("A", "B", "C"), [("abcdef", "x" * 30, 1)], (4, 0, 3), 20)
        assert ["A     B            C", "ab..  xxxxxxxxx..  1"] == shown.splitlines()

    def test_signs_that_take_two_columns(self) -> None:
        shown = cropped_rows(("A", "B"), [("桜", 1), ("Edda", 2)], (16, 3), 78)
        assert ["A     B", "桜    1", "Edda  2"] == shown.splitlines()
        shown = cropped_rows(("A", "B"), [("紅葉山紅葉山", 1), ("Edda", 2)], (9, 3), 78)
        assert ["A          B", "紅葉山..   1", "Edda       2"] == shown.splitlines()
