"""Creating, changing and copying an assistant."""

from dataclasses import asdict
from unittest import mock

import pytest
from evennia.objects.models import ObjectDB
from evennia.objects.objects import DefaultObject
from evennia.utils import logger
from evennia.utils.create import create_channel, create_object

from evennia_ai import operations
from evennia_ai.operations.assistants import creation, lifecycle, looks
from evennia_ai.operations.naming import LONGEST_NAME
from evennia_ai.operations.result import ProblemKind
from evennia_ai.runtime import state
from tests.game.emergency.stopping import SafetyTest

# A name, and a part of the refusal.
BAD_NAMES = [
    ("  ", "An assistant needs a name, for example: assistant create Edda"),
    ("x" * (LONGEST_NAME + 1), "has 61 characters; a name has at most 60"),
    ("Ed\x00da", "The name Edda has invisible characters; use letters, as in Edda."),
    ("Ed\u200fda", "has invisible characters"),
    ("7", "The name 7 does not begin with a letter; use a name such as Edda or Old Edda."),
    ("@edda", "does not begin with a letter"),
    ("#2", "does not begin with a letter"),
    ("Edda=x", "The name Edda=x holds =, which commands use themselves; leave it out."),
    ("Edda, Tom", "holds ,, which commands"),
    ("a/b", "holds /, which commands"),
    ("all", "all means something else in commands; choose another name, such as Edda."),
    ("Look", "Look is a command of the game; choose another name, such as Old Look."),
]


class TestCreate(SafetyTest):
    def test_a_name_that_cannot_be_typed_is_refused(self) -> None:
        count = ObjectDB.objects.count()
        for name, expected in BAD_NAMES:
            with self.subTest(name=name):
                result = operations.create_assistant(name, location=self.room1)
                assert (False, ProblemKind.INVALID) == (result.ok, result.problem)
                assert expected in result.message
        assert count == ObjectDB.objects.count()

    def test_a_name_is_nobody_elses(self) -> None:
        for name, expected in (
            ("ada", "There is an assistant named ada already; choose another name."),
            ("TOM", "There is a character named TOM already; choose another name."),
        ):
            result = operations.create_assistant(name)
            assert (expected, ProblemKind.CONFLICT) == (result.message, result.problem)

    def test_names_of_other_scripts_and_signs_are_taken(self) -> None:
        for name in ("Ángström", "Мира", "O'Brien", "Odd|lcquit|ltName", "Seven 7", "R2-D2"):
            assert operations.create_assistant(name).ok, name

    def test_settings_are_judged_before_anything_is_made(self) -> None:
        count = ObjectDB.objects.count()
        wrong = {"tick_rate": "fast", "speed": 1}
        result = operations.create_assistant("Edda", settings=wrong)
        assert result.message.startswith("Edda is not created: tick_rate is 'fast'; it must be")
        assert set(wrong) == set(result.errors)
        assert not operations.create_assistant("Edda", lines={"examples": [["hi"]]}).ok
        assert "look is a command" in operations.create_assistant("Edda", aliases=["look"]).message
        assert count == ObjectDB.objects.count()
        right = {"tick_rate": "30", "max_own_turns": 3, "llm_model": "none"}
        script = operations.create_assistant("Edda", settings=right, by="Tom").data.script
        assert 30 == state.read(script, "tick_rate")
        silent = operations.create_assistant("Zoe", location=self.room1, settings={"enabled": "no"})
        assert "Zoe is silent in Room. To let it answer: assistant start Zoe" == silent.message
        assert {"loop": {"max_own_turns": 3}} == state.read(script, "safety_config")
        assert not script.attributes.has("llm_model")

    def test_what_breaks_in_the_middle_leaves_nothing(self) -> None:
        """Neither in the room nor in memory; also no timer, which the test base would find."""
        contents = list(self.room1.contents)
        with (
            mock.patch.object(creation, "create_script", side_effect=RuntimeError("disk full")),
            pytest.raises(RuntimeError, match="disk full"),
        ):
            operations.create_assistant("Edda", location=self.room1)
        assert contents == list(self.room1.contents)
        assert "Edda" not in {str(each.key) for each in ObjectDB.get_all_cached_instances()}
        assert operations.create_assistant("Edda", location=self.room1).ok


class TestUpdate(SafetyTest):
    def test_a_move_after_which_a_hook_fails_is_a_move(self) -> None:
        failing = mock.patch.object(type(self.room2), "at_object_receive", side_effect=ValueError)
        with failing, mock.patch.object(logger, "log_trace"):
            assert looks.update_assistant(self.ada_script, location=self.room2, by="Tom").ok
        assert (self.room2, self.room2) == (self.ada.location, self.ada.home)

    def test_it_goes_only_into_a_room(self) -> None:
        """A character that is logged out is in no room either, and was taken for one."""
        create_object(DefaultObject, key="Bob", nohome=True)
        result = looks.update_assistant(self.ada_script, location="Bob", by="Tom")
        assert (False, self.room1) == (result.ok, self.ada.location)
        assert "there is no single room 'Bob'; give its #number" in result.message

    def test_an_alias_that_it_has_already_may_stay(self) -> None:
        """An adopted being may have some that no assistant would get."""
        guard = create_object(DefaultObject, key="Guard", aliases=["2nd guard", "g"])
        script = operations.adopt(guard, "Garda").data.script
        given = ["2nd Guard", "The  Watch"]  # Evennia's parser reads several blanks as one
        assert looks.update_assistant(script, aliases=given, by="Tom").ok
        assert ["2nd guard", "the watch"] == guard.aliases.all()

    def test_each_can_be_changed(self) -> None:
        result = looks.update_assistant(
            self.ada_script,
            desc="Grey.",
            persona="Copies charts.",
            location=self.room2.dbref,
            aliases=["keeper"],
            by="Tom",
        )
        assert "Ada: desc, persona, location, aliases changed." == result.message
        created = self.ada_script.db_date_created
        assert {
            "key": "Ada",
            "desc": "Grey.",
            "persona": "Copies charts.",
            "location": "Room2",
            "location_id": self.room2.dbref,
            "aliases": ["keeper"],
            "enabled": True,
            "adopted": False,
            "created_at": created.isoformat(),
        } == asdict(result.data)
        assert (self.room2, self.room2) == (self.ada.location, self.ada.home)
        assert looks.update_assistant(self.ada_script, desc="").ok
        assert "Ada is an assistant, an AI." == self.ada.db.desc
        assert "Copies charts." == state.read(self.ada_script, "persona")
        assert "Ada is in Room2. Ada is an" in looks.describe(self.ada_script).message

    def test_she_answers_to_a_new_name_at_once(self) -> None:
        assert looks.update_assistant(self.ada_script, aliases=["keeper"]).ok
        self.type(self.tom, "say @keeper hello")
        assert "queued" in str(self.ada_script.work.decisions.newest()[0].steps)

    def test_what_is_wrong_changes_nothing(self) -> None:
        before = looks.describe(self.ada_script).data
        for change, expected in (
            ({}, "Ada: give something to change, one of: desc, persona, location, aliases."),
            ({"desc": "x" * 4001}, "the description has 4001 characters; it must have at most"),
            ({"persona": "x" * 20001}, "persona has 20,003 characters"),
            ({"location": "nowhere"}, "there is no single room 'nowhere'; give its #number"),
            ({"location": self.ada}, "there is no single room"),
            ({"aliases": ["look"]}, "look is a command of the game"),
            ({"aliases": "keeper"}, "aliases must be a list of at most 10 names"),
        ):
            with self.subTest(expected):
                more = {"desc": "Grey.", **change} if change else {}
                result = looks.update_assistant(self.ada_script, **more)
                assert not result.ok
                assert expected in result.message
                assert before == looks.describe(self.ada_script).data

    def test_a_place_that_does_not_let_her_in_is_a_conflict(self) -> None:
        self.room2.at_pre_object_receive = lambda *_, **__: False
        try:
            result = looks.update_assistant(self.ada_script, location=self.room2)
        finally:
            del self.room2.at_pre_object_receive
        assert ("Ada cannot go to Room2: the game does not allow that.", ProblemKind.CONFLICT) == (
            result.message,
            result.problem,
        )
        assert self.room1 == self.ada.location

    def test_without_a_body_only_the_person_changes(self) -> None:
        self.ada_script.obj = None
        result = looks.update_assistant(self.ada_script, desc="Grey.")
        assert (ProblemKind.CONFLICT, "Ada has no body, so only the persona can be changed.") == (
            result.problem,
            result.message,
        )
        assert looks.update_assistant(self.ada_script, persona="Copies charts.").ok
        data = looks.describe(self.ada_script).data
        assert ("", None, []) == (data.desc, data.location, data.aliases)


class TestClone(SafetyTest):
    def test_what_she_is_goes_along_and_what_she_lived_through_does_not(self) -> None:
        """Settings, look, channels and control are copied; talk, goals, stop and rights are not."""
        channel = create_channel("Public", locks="listen:all();send:all()")
        assert operations.set_channel(self.ada_script, "Public", "context").ok
        self.ada.db.desc = "Grey."
        self.ada.locks.add("ai_control:id(5)")
        self.ada.permissions.add("Builder")
        state.write(
            self.ada_script,
            persona="Copies charts.",
            prompt_components={250: {"key": "mood", "content": "Glad."}},
            conversation_history=[{"role": "user", "content": "hi"}],
            muted_by=["#5"],
        )
        operations.add_goal(self.ada_script, "find the atlas")
        self.ada_script.trigger_emergency_stop("test")
        result = lifecycle.clone_assistant(self.ada_script, "Bea", by="Tom")
        assert result.ok, result.message
        script, body = result.data.script, result.data.character
        assert ("Bea", "Bea", "Grey.", self.room1) == (
            script.key,
            state.read(script, "assistant_key"),
            body.db.desc,
            body.location,
        )
        for name in ("persona", "prompt_components", "channel_configs", "hearing_config"):
            assert state.read(self.ada_script, name) == state.read(script, name)
        assert channel.subscriptions.has(body)
        assert "ai_control:id(5)" == body.locks.get("ai_control")
        assert [] == body.permissions.all()
        for name in ("conversation_history", "current_goals", "muted_by", "emergency_stop"):
            assert state.DEFAULTS[name] == state.read(script, name)
        assert "" == script.silence

    def test_it_is_a_copy(self) -> None:
        state.write(self.ada_script, execution_config={"calls_per_reply": 2})
        copy = lifecycle.clone_assistant(self.ada_script, "Bea", location=self.room2).data
        state.write(self.ada_script, execution_config={"calls_per_reply": 3})
        assert {"calls_per_reply": 2} == state.read(copy.script, "execution_config")
        assert "Bea is an assistant, an AI." == copy.character.db.desc
        assert self.room2 == copy.character.location

    def test_one_without_a_body_into_a_room_that_not_everybody_may_enter(self) -> None:
        self.ada.delete()
        self.ada_script.refresh_from_db()
        self.room1.locks.add("teleport_here:perm(Builder)")
        self.mira.account.permissions.add("Builder")
        result = lifecycle.clone_assistant(
            self.ada_script, "Bea", location=self.room1, person=self.mira
        )
        assert self.room1 == result.data.character.location

    def test_what_is_wrong_is_not_copied(self) -> None:
        assert not lifecycle.clone_assistant(self.ada_script, "Ada").ok
        state.write(self.ada_script, max_agent_hops="many")
        result = lifecycle.clone_assistant(self.ada_script, "Bea")
        assert "Bea is not created: max_agent_hops is 'many'; it must be" in result.message

    def test_one_without_a_body_gives_one_with_a_plain_one(self) -> None:
        self.ada_script.obj = None
        result = lifecycle.clone_assistant(self.ada_script, "Bea")
        assert "Bea is awake, but in no room" in result.message
