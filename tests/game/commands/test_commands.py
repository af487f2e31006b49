"""The words of the commands: right, wrong, and incomplete."""

import os
import time
from dataclasses import replace
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

from django.test import override_settings
from evennia.utils import logger

from evennia_ai import apps, operations
from evennia_ai.commands import AssistantCmdSet, CmdAssistant, CmdHistory
from evennia_ai.llm.local.state import Phase, Snapshot, SupervisorLock, write_snapshot
from evennia_ai.llm.local_transport import places_of_game
from evennia_ai.llm.scripted import completion
from evennia_ai.operations.models.choosing import AT_ONCE, loading_hint
from evennia_ai.operations.settings import checks
from evennia_ai.runtime import state
from evennia_ai.tools.registry import BROKEN, load_modules
from tests.game.support import GameTest, pump, whispers

STAYS = "It stays stopped across restarts. To let it go on: "


class CommandTest(GameTest):
    def history(self, line: str) -> str:
        return self.call(CmdHistory(), line)


class TestOverview(CommandTest):
    def test_all_are_listed(self) -> None:
        self.make("Brass")
        operations.set_enabled(self.ada_script, False)
        for line in ("", "list"):
            shown = self.assistant(line)
            assert shown.index("Ada") < shown.index("Brass")
            for expected in ("silent", "awake", "scripted", "assistant start Ada"):
                assert expected in shown

    def test_without_any_the_first_step_is_said(self) -> None:
        self.ada_script.delete()
        assert "There is no assistant yet. Make one: assistant create <name>" == self.assistant("")

    def test_one_in_detail(self) -> None:
        self.ask("whisper Ada = hello", whispers("Hello."))
        shown = self.assistant("status ada")
        for expected in (
            "Ada: awake",
            "where     Room",
            "brain     scripted model",
            "used      1 model call, ",
            "waiting   0",
            "errors    0 in a row, stops itself at 5",
            "breaker   llm:scripted closed",
        ):
            assert expected in shown

    def test_the_only_one_need_not_be_named(self) -> None:
        assert self.assistant("status").startswith("Ada: awake")
        self.make("Brass", location=self.room2)
        assert self.assistant("status").startswith("Ada: awake")

    def test_where_several_could_be_meant_they_are_named(self) -> None:
        self.make("Brass")
        how = "Usage: assistant status [<name>]"
        assert f"Which assistant? There are: Ada, Brass.\n{how}" == self.assistant("status")

    def test_an_unknown_name_is_answered_with_the_known(self) -> None:
        answer = (
            "There is no assistant named |rEdda. There are: Ada.\nUsage: assistant status [<name>]"
        )
        assert answer == self.assistant("status |rEdda")

    def test_a_word_it_does_not_have(self) -> None:
        assert "There is no 'assistant dance'. Type: help assistant" == self.assistant("dance ada")

    def test_a_wrong_setup_is_shown_and_not_raised(self) -> None:
        state.write(self.ada_script, llm_provider="opnai")
        assert "not set up: llm_provider is 'opnai'" in self.assistant("status ada")

    def test_words_are_known_in_any_case_and_as_switches(self) -> None:
        for line in ("/status ada", "STATUS Ada", "/emergency/clear ada"):
            assert self.assistant(line).startswith("Ada: ")


class TestCreate(CommandTest):
    def test_one_is_made_where_the_builder_stands(self) -> None:
        shown = self.assistant("create Edda = Edda copies |rcharts = all day.")
        assert "Edda is awake in Room. Try: whisper Edda = hello" == shown
        script: Any = operations.find_assistant("EDDA")
        assert "Edda copies |rcharts = all day." == state.read(script, "persona")
        assert self.room1 == script.obj.location
        self.answer_at_once(script)
        self.ask("whisper edda = hello", whispers("Hello."))
        assert ['Edda whispers: "Hello."'] == self.tom.heard_from(script.obj)

    def test_a_name_is_needed_and_must_be_free(self) -> None:
        for line in ("create = Nobody.", "init ="):
            assert self.assistant(line).startswith(
                "An assistant needs a name.\nUsage: assistant cr"
            )
        taken = "There is an assistant named ada already; choose another name."
        assert taken == self.assistant("create ada")
        assert 1 == len(operations.list_assistants())


class TestStartStop(CommandTest):
    def test_she_is_silenced_and_woken(self) -> None:
        for line, expected in (
            ("start ada", "Ada is already awake."),
            ("stop ada", "Ada is silent. To let it answer: assistant start Ada"),
            ("stop ada", "Ada is already silent."),
            ("start ada", "Ada is awake."),
            ("start edda", "There is no assistant named edda. There are: Ada."),
        ):
            assert expected == self.assistant(line).partition("\n")[0], line

    def test_one_that_code_paused_or_stopped_is_paused_until_it_is_started(self) -> None:
        """It was called awake everywhere, and what people asked waited for ever."""
        for act in ("pause", "stop"):
            getattr(self.ada_script, act)()
            self.type(self.tom, f"whisper Ada = {act}?")
            assert "Ada is paused. To let it answer: assistant start Ada" in self.assistant("list")
            assert self.assistant("status ada").startswith("Ada: paused. ")
            assert "Now: paused, and 1 waiting." in self.assistant("why ada")
            self.model.answers.append(whispers(f"After {act}."))
            assert "Ada is awake." == self.assistant("start ada")
            pump()
            assert f'Ada whispers: "After {act}."' in self.tom.heard_from(self.ada)
            assert "Ada: awake. " in self.assistant("status ada")

    def test_an_emergency_stop_and_its_clearing(self) -> None:
        """A name is optional, and words may be in capitals."""
        for line, expected in (
            ("emergency clear", "Ada: Emergency stop is not active."),
            ("emergency stop", f"Ada is stopped. {STAYS}assistant emergency clear Ada"),
            (
                "emergency clear",
                "Ada: Emergency stop cleared; the assistant goes on with its next beat.",
            ),
            ("emergency STOP ada", f"Ada is stopped. {STAYS}assistant emergency clear Ada"),
            (
                "start ada",
                "Ada is already awake. It is stopped; to let it go on: assistant emergency clear",
            ),
            (
                "emergency STOP ada",
                "Ada is already stopped. To let it go on: assistant emergency clear Ada",
            ),
            ("emergency clear ada", "Ada: Emergency stop cleared; "),
        ):
            assert self.assistant(line).startswith(expected), line
        usage = (
            "Usage: assistant emergency stop [<name> | all] [<reason>], assistant emergency clear "
            "[<name> | all]"
        )
        for line in ("emergency", "emergency ada", "emergency halt ada"):
            assert usage == self.assistant(line)

    def test_a_cleared_stop_says_that_she_is_still_silenced(self) -> None:
        for line in ("stop ada", "emergency stop ada"):
            self.assistant(line)
        assert self.assistant("emergency clear ada") == (
            "Ada: Emergency stop cleared; the assistant stays silent, as it was before the stop. "
            "To let it answer: assistant start Ada"
        )

    def test_who_stopped_her_is_kept(self) -> None:
        self.assistant("emergency stop ada")
        assert "Ada is stopped: stopped by Tom." in self.sent_to_staff()[-1]

    def test_what_is_typed_after_a_name_is_the_reason(self) -> None:
        """In a hurry people type more than a name, and that must not cost time."""
        for line in ("stop ada because it swears", "stop ada = because it swears"):
            assert self.assistant(f"emergency {line}").startswith("Ada is stopped. ")
            assert "Ada is stopped: because it swears." in self.sent_to_staff()[-1]
            operations.clear(self.ada_script)
        self.assistant("emergency stop all it swears")
        assert "Ada is stopped: it swears." in self.sent_to_staff()[-1]
        assert "There is no assistant named edda it swears." in self.assistant(
            "emergency stop edda it swears"
        )

    def test_a_reset_clears_conversation_and_stop(self) -> None:
        self.ask("whisper Ada = hello", whispers("Hello."))
        operations.stop(self.ada_script, "test")
        for line in ("reset", "RESET ada", "/reset ada"):
            assert "Ada starts a new conversation." == self.history(line)
        assert [] == state.read(self.ada_script, "conversation_history")
        assert not state.read(self.ada_script, "emergency_stop")
        assert 1 == state.read(self.ada_script, "usage")["calls"]

    def test_a_reset_works_before_she_ever_started(self) -> None:
        """A paused assistant can be reset too."""
        self.ada_script.work = None
        assert "Ada starts a new conversation." == self.history("reset ada")


class TestCheck(CommandTest):
    def test_the_endpoint_is_tried_line_by_line(self) -> None:
        self.use_scripted_model()
        for line in ("check", "check ada"):
            shown = self.assistant(line)
            assert "Asking the model; this takes a moment." in shown
            for expected in (
                "answers     ok",
                "model       ok",
                "tool calls  ok",
                "context     ok",
                "prompt      ok  a whisper to Ada needs about ",
            ):
                assert expected in shown
            assert shown.endswith("An assistant can work with it.")

    def test_what_does_not_work_is_a_no(self) -> None:
        self.model.answers.extend([completion("hi"), completion("Ding!"), completion("hi")])
        shown = self.assistant("check")
        assert "tool calls  NO  it answered 'Ding!' instead of a tool call" in shown
        assert shown.endswith("Fix what says NO first.")

    def test_a_name_that_nobody_has_is_told(self) -> None:
        state.write(self.ada_script, confirm_by="Tmo")
        assert "Ada: confirm_by is 'Tmo', a name or permission that nobody has" in self.assistant(
            "check ada"
        )

    def test_a_context_that_is_too_small(self) -> None:
        self.use_scripted_model()
        state.write(self.ada_script, max_context_tokens=300)
        for line in ("check", "check ada"):
            shown = self.assistant(line)
            assert "prompt      NO  a whisper to Ada needs about " in shown
            assert "the model reads 300, so it cannot answer. Let the model read more" in shown
            assert shown.endswith("Fix what says NO first.")

    def test_a_misspelt_name_in_the_settings_is_told(self) -> None:
        """In the check, in Django's own check, and in the log of a start."""
        self.use_scripted_model()
        expected = "has EVENNIA_AI_STAF_LOCK, which is no setting; did you mean EVENNIA_AI_STAFF_"
        with override_settings(EVENNIA_AI_STAF_LOCK="perm(Admin)"):
            assert expected in self.assistant("check ada")
            (problem,) = apps.check_names(None)
            with mock.patch.object(logger, "log_warn") as logged:
                checks.report_problems_of_game()
        assert expected in problem.msg
        assert expected in logged.call_args.args[0]
        assert [] == apps.check_names(None)

    def test_a_wrong_setting_of_the_game_is_told(self) -> None:
        """Who types `evennia reload` sees nothing of Django's own check."""
        self.use_scripted_model()
        for name, value, problem in (
            ("HEARING_CONFIG", {"answer_delay": 3}, " has no key 'answer_delay'"),
            ("SAFETY_CONFIG", {"answer_delay": 3}, " has no key 'answer_delay'"),
            ("MEMORY_CONFIG", ["on"], " is ['on']; it must be a mapping of "),
            ("PRICES", 5, " is 5; it must be like "),
            ("TOOL_MODULES", ["world.tolls"], " names 'world.tolls', which cannot be imported: "),
        ):
            expected = f"EVENNIA_AI_{name}{problem}"
            with override_settings(**{f"EVENNIA_AI_{name}": value}):
                with mock.patch.object(logger, "log_warn") as logged:
                    checks.report_problems_of_game()
                assert expected in self.assistant("check ada")
            (line,) = logged.call_args_list
            assert expected in line.args[0]
        load_modules()

    def test_a_wrong_setup_is_said(self) -> None:
        """What needs no model is shown all the same."""
        state.write(self.ada_script, llm_provider="opnai")
        with mock.patch.dict(BROKEN, lamps="lamps: No module named 'lamps'"):
            shown = self.assistant("check ada")
        assert "The game goes on without some tools: lamps: No module named 'lamps'" in shown
        assert "The model is not set up: llm_provider is 'opnai'" in shown
        assert self.assistant("check edda").startswith("There is no assistant named edda.")
        assert [] == self.model.bodies

    def test_a_demo_brain_that_is_loaded_is_said(self) -> None:
        """Nothing is said of one that is ready, or whose process is another."""
        state.write(self.ada_script, llm_provider="local")
        with TemporaryDirectory() as game, override_settings(GAME_DIR=game):
            (folder, _) = places_of_game()
            folder.mkdir(parents=True)
            lock = SupervisorLock(folder)
            assert lock.acquire()
            lock.sign()
            model = Snapshot(Phase.STARTING, os.getpid(), "qwen", started_at=time.time())
            write_snapshot(folder, model)
            hint = loading_hint(self.ada_script)
            assert "is being loaded, since " in hint
            assert f"its log says why: {folder}" in hint
            write_snapshot(folder, replace(model, phase=Phase.READY))
            assert "" == loading_hint(self.ada_script)
            write_snapshot(folder, replace(model, pid=1))
            assert "" == loading_hint(self.ada_script)

    def test_the_answer_may_come_later(self) -> None:
        """The command returns at once, and the report follows."""
        assert self.assistant("check") == (
            "Ada hears Evennia's own commands; nobody has spoken here yet.\n"
            "Asking the model; this takes a moment."
        )
        self.forget()
        self.model.fail(RuntimeError("|rburst"))
        pump()
        assert ["The check itself failed: |rburst"] == self.tom.seen

    def test_many_are_checked_in_slices(self) -> None:
        """The prompt of each takes milliseconds, so the game goes on between them."""
        self.use_scripted_model()
        for number in range(AT_ONCE):
            self.make(f"Lamp {number}")
        reports: list[Any] = []
        operations.check_model().addCallback(reports.append)
        assert [] == reports
        pump()
        assert "prompt" == reports[0].lines[-1].name


class TestNotRunning(CommandTest):
    """Evennia may fail to start an assistant; these ended in an internal error then."""

    def test_it_is_told(self) -> None:
        self.ada_script.work = None
        for line, answer in (
            ("why ada", "Ada is not running."),
            ("mute ada", "Ada is not running."),
            ("prompt ada", "Ada has no prompt now: it is not running"),
            ("prompt ada reflection", "Ada has no prompt now: it is not running"),
        ):
            with self.subTest(line):
                assert self.assistant(line).startswith(answer)


class TestPermission(CommandTest):
    def test_who_may_type_what(self) -> None:
        for person, is_staff in ((self.tom, True), (self.mira, False)):
            assert CmdAssistant().access(person, "cmd")
            assert is_staff is CmdAssistant().counts_as_staff(person)
            assert is_staff is CmdHistory().access(person, "cmd")

    def test_what_is_for_staff_does_nothing_for_a_player(self) -> None:
        for person in (self.tom, self.mira):
            person.cmdset.add(AssistantCmdSet)
        self.type(self.mira, "assistant emergency stop ada")
        self.type(self.mira, "history reset ada")
        assert not state.read(self.ada_script, "emergency_stop")
        refused, unknown = self.mira.seen
        assert "You may not control Ada: that needs its lock 'ai_control:perm(Builder)'." == refused
        assert "Command 'history reset ada' is not available" in unknown
        self.type(self.tom, "aisetup emergency stop ada")
        assert state.read(self.ada_script, "emergency_stop")
        self.type(self.tom, "/history reset ada")
        assert not state.read(self.ada_script, "emergency_stop")
