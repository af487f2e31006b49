"""Settings of an owner about hearing: permissions, trust, channels and the room."""

from contextlib import ExitStack
from typing import Any
from unittest import mock

import pytest
from evennia.utils import logger

from evennia_ai import operations
from evennia_ai.errors import ConfigurationError
from evennia_ai.llm.scripted import completion
from evennia_ai.runtime import state
from tests.game.listening import HearingTest
from tests.game.support import pump

# Each row: `trigger_permissions`, and whether Tom (Developer) and Mira (nobody special) have one.
PERMITTED: tuple[tuple[Any, bool, bool], ...] = (
    ((), False, False),
    (("Builder",), True, False),
    (["builder"], True, False),
    (("Superuser",), False, False),
    (("Keeper of cats",), False, False),
    (("perm(Builder)",), True, False),
    (("not perm(Builder)",), False, True),
    (("all()",), True, True),
    (("false()",), False, False),
    (("Keeper", "attr(is_friend)"), False, True),
    (("perm(Builder) or attr(is_friend)",), True, True),
    (("perm(Builder) AND attr(is_friend)",), False, False),
    # A lock that cannot be read lets nobody in.
    (("nosuchfunction()",), False, False),
    (("perm(Builder) or nosuchfunction(1)",), False, False),
    (("perm(Builder",), False, False),
    (("perm(Builder) perm(Player)",), False, False),
    (("perm(Builder); all()",), True, False),
    (("()",), False, False),
    (("(",), False, False),
    (("",), False, False),
    ((7, None, "Builder"), True, False),
    ("Builder", True, False),
)

# Each row: a setting that cannot be read, and a part of what is said about it.
WRONG: tuple[tuple[str, Any, str], ...] = (
    ("channel_configs", {"Public": "loud"}, "channel_configs['Public'].mode is 'loud'"),
    ("channel_configs", {"Public": {"mode": "trigger", "trust": 7}}, "['Public'].trust is 7"),
    ("channel_configs", {"Public": {"volume": 1}}, "channel_configs['Public'] has no key 'volume'"),
    ("channel_configs", {"Public": None}, "channel_configs['Public'] is None"),
    ("channel_configs", {"Public": {"mode": ["trigger"]}}, "channel_configs['Public'].mode is"),
    ("channel_configs", ["Public"], "channel_configs is"),
    ("channel_configs", "trigger", "channel_configs is"),
    ("channel_configs", 7, "channel_configs is"),
    ("room_messages", "loud", "room_messages is 'loud'"),
    ("addressed_by", "shouting", "addressed_by is 'shouting'; it must be one of name, at"),
    ("addressed_by", ["at"], "addressed_by is ['at']"),
    ("room_messages", True, "room_messages is True"),
    ("room_messages", ["trigger"], "room_messages is ['trigger']"),
    ("trigger_permissions", ("nosuchfunction()",), "nosuchfunction()"),
    ("trigger_permissions", 7, "trigger_permissions"),
    ("trigger_permissions", (7,), "trigger_permissions"),
    ("trust_overrides", {"Builder": "much"}, "trust_overrides['Builder']"),
    ("trust_overrides", {"Builder": 2}, "trust_overrides['Builder']"),
    ("trust_overrides", {"Builder": None}, "trust_overrides['Builder']"),
    ("trust_overrides", {"nosuchfunction()": 1}, "nosuchfunction()"),
    ("trust_overrides", ["Builder"], "trust_overrides"),
    ("trust_overrides", 0.5, "trust_overrides"),
    ("hearing_config", {"speed": 9}, "hearing_config has no key 'speed'"),
    ("hearing_config", {"calls_per_player": 0}, "hearing_config.calls_per_player is 0"),
    ("hearing_config", {"cooldown_seconds": "soon"}, "hearing_config.cooldown_seconds is 'soon'"),
    ("hearing_config", {"expires_seconds": float("nan")}, "hearing_config.expires_seconds"),
    ("hearing_config", ["fast"], "hearing_config"),
    ("hearing_config", 7, "hearing_config"),
    ("max_agent_hops", "many", "max_agent_hops"),
    ("max_agent_hops", [3], "max_agent_hops"),
)


class TestPermissions(HearingTest):
    """Rule 5: people whose speech needs no address."""

    def setUp(self) -> None:
        super().setUp()
        self.mira.db.is_friend = True

    def says(self, person: Any, words: str = "what a day") -> str:
        person.execute_cmd(f"say {words}")
        return self.judged()

    def test_permissions_and_lock_strings(self) -> None:
        for given, toms, miras in PERMITTED:
            self.set(trigger_permissions=given)
            for person, holds in ((self.tom, toms), (self.mira, miras)):
                with self.subTest(given=given, person=person):
                    expected = "5 trigger_permission trigger" if holds else "7 default ignore"
                    assert expected == self.says(person)

    def test_what_is_aimed_at_another_is_left_alone(self) -> None:
        """This holds also for a speaker who has the permission."""
        self.set(trigger_permissions=("all()",))
        for words in ("Mira, look at this", "@brass hello", "Tom: hm"):
            with self.subTest(words=words):
                assert "7 default ignore" == self.says(
                    self.tom if words[0] != "T" else self.mira, words
                )

    def test_comings_and_goings_are_no_speech(self) -> None:
        self.set(trigger_permissions=("all()",))
        self.tom.move_to(self.room2)
        assert "7 default ignore" == self.judged()

    def test_an_address_is_still_the_better_reason(self) -> None:
        self.set(trigger_permissions=("all()",))
        assert "2 direct_address trigger" == self.says(self.tom, "@ada hello")

    def test_another_assistant_has_no_right_by_a_permission(self) -> None:
        """Rule 4 comes before rule 5, so that no lock makes two machines talk to each other."""
        self.set(trigger_permissions=("all()",))
        _, brass = self.make("Brass")
        self.model.answers.append(completion(None, ("say", {"message": "To all of you: hello."})))
        brass.msg(('Tom says, "@brass"', {"type": "say"}), from_obj=self.tom)
        pump()
        assert "4 assistant_cross_talk context" == self.judged()

    def test_a_superuser_passes_every_lock(self) -> None:
        self.account2.is_superuser = True
        self.mira.locks.cache_lock_bypass(self.mira)
        for given in ("perm(Developer)", "false()", "Nobody"):
            self.set(trigger_permissions=(given,))
            assert "5 trigger_permission trigger" == self.says(self.mira)

    def test_an_account_on_a_channel_has_its_permissions(self) -> None:
        """The sender on a channel is the account."""
        public = self.channel()
        self.set(trigger_permissions=("Builder",))
        for account, judged in (
            (self.account, "5 trigger_permission trigger"),
            (self.account2, "7 default ignore"),
        ):
            public.msg("what a day", senders=account)
            assert judged == self.judged()


class TestTrust(HearingTest):
    def trust(self, line: str, person: Any = None) -> float:
        (person or self.tom).execute_cmd(line)
        return self.records()[0].verdict.trust

    def test_a_permission_can_stand_for_a_trust(self) -> None:
        self.set(trust_overrides={"attr(is_liar)": 0.05, "Builder": 1, "perm(Player)": 0.5})
        self.tom.db.is_liar = False
        assert (1, 1) == (self.trust("say hello"), self.trust("whisper Ada = hello"))
        assert 0.5 == self.trust("say hello", self.mira)
        self.tom.db.is_liar = True
        assert 0.05 == self.trust("whisper Ada = hello")

    def test_it_is_told_to_the_model(self) -> None:
        self.set(trust_overrides={"Builder": 0.123})
        self.ask("whisper Ada = hello", completion(None, ("noop", {})))
        assert 'Tom whispers to you (trust 0.12): "hello"' == self.prompt().splitlines()[-1]

    def test_answers_raise_it_a_little(self) -> None:
        """One hundredth each, at most a tenth."""
        for _ in range(12):
            self.ask("whisper Ada = hello", completion(None, ("noop", {})))
        assert 1.0 == self.trust("whisper Ada = hello")
        assert 0.5 == self.trust("say hello")


class TestRoom(HearingTest):
    def heard_as(self, line: str, person: Any = None) -> str:
        (person or self.tom).execute_cmd(line)
        return self.judged()

    def test_modes_of_the_room(self) -> None:
        for mode, talk, to_mira in (
            ("ignore", "7 default ignore", "7 default ignore"),
            ("context", "7 room_message context", "7 room_message context"),
            ("trigger", "7 room_message trigger", "7 room_message context"),
        ):
            with self.subTest(mode=mode):
                self.set(room_messages=mode)
                for line in ("say what a day", "pose yawns."):
                    assert talk == self.heard_as(line)
                for line in ("say Mira, what a day", "pose nods to @mira"):
                    assert to_mira == self.heard_as(line)
                self.mira.move_to(self.room2)
                assert to_mira == self.judged()
                self.mira.move_to(self.room1)
                assert "2 direct_address trigger" == self.heard_as("say @ada hello")

    def test_without_addresses(self) -> None:
        self.set(enable_addressing=False)
        assert "7 default ignore" == self.heard_as("say @ada hello")
        assert "3 direct_message trigger" == self.heard_as("whisper Ada = hello")

    def test_without_interaction(self) -> None:
        self.set(interaction_enabled=False, trigger_permissions=("all()",), room_messages="trigger")
        public = self.channel()
        for line in ("say @ada hello", "whisper Ada = hello", "pose waves"):
            assert "0 interaction_disabled ignore" == self.heard_as(line)
        public.msg("@ada", senders=self.tom)
        assert "0 interaction_disabled ignore" == self.judged()
        assert ([], []) == (self.waiting(), self.tom.heard_from(self.ada))


class TestChanges(HearingTest):
    def judge(self) -> str:
        self.tom.execute_cmd("say what a day")
        return self.judged()

    def test_what_is_set_counts_at_once(self) -> None:
        ignored, kept = "7 default ignore", "7 room_message context"
        attributes = self.ada_script.attributes
        for act, expected in (
            (lambda: setattr(self.ada_script.db, "room_messages", "context"), kept),
            (lambda: delattr(self.ada_script.db, "room_messages"), ignored),
            (lambda: attributes.add("room_messages", "context"), kept),
            (lambda: attributes.remove("room_messages"), ignored),
            (lambda: attributes.batch_add(("room_messages", "context")), kept),
            (lambda: attributes.clear(), ignored),
        ):
            assert self.judge()
            act()
            assert expected == self.judge()

    def test_a_change_inside_a_stored_mapping_counts_from_the_next_beat(self) -> None:
        """Evennia reports no change inside a stored mapping, so each beat looks again."""
        public = self.channel()
        self.set(channel_configs={"Public": "ignore"})
        public.msg("hello", senders=self.tom)
        self.ada_script.db.channel_configs["Public"] = "context"
        self.ada_script.at_repeat()
        public.msg("hello", senders=self.tom)
        assert "6 channel_config context" == self.judged()

    def test_a_new_name_counts_from_the_next_beat(self) -> None:
        self.judge()
        self.ada.key = "Edda"
        self.ada.aliases.add("keeper")
        self.ada_script.at_repeat()
        for name, judged in (("edda", "2"), ("keeper", "2"), ("ada", "7")):
            self.tom.execute_cmd(f"say @{name} hello")
            assert judged == self.judged()[0]


class TestWrong(HearingTest):
    def test_it_counts_as_not_set_and_is_reported_once(self) -> None:
        """She hears and answers all the same; the log, the status and `why` say what is wrong."""
        public = self.channel()
        for name, value, expected in WRONG:
            with self.subTest(name=name, value=value), ExitStack() as stack:
                log = stack.enter_context(mock.patch.object(logger, "log_err"))
                traced = stack.enter_context(mock.patch.object(logger, "log_trace"))
                stack.callback(setattr, self.ada_script.db, name, getattr(self.ada_script.db, name))
                self.set(**{name: value})
                for _ in range(2):
                    self._hear_as_ever(public)
                    self.ada_script.at_repeat()
                lines = [call.args[0] for call in log.call_args_list if "settings" in call.args[0]]
                assert 1 == len(lines), lines
                assert expected in lines[0]
                assert expected in operations.status(self.ada_script).data.ignored_settings
                assert expected in operations.why(self.ada_script).message
                assert not traced.called
            self.tom.execute_cmd("say what a day")
            assert "" == operations.status(self.ada_script).data.ignored_settings

    def _hear_as_ever(self, public: Any) -> None:
        self.tom.execute_cmd("say what a day")
        assert "7 default ignore" == self.judged()
        public.msg("what a day", senders=self.tom)
        assert "7 default ignore" == self.judged()
        self.tom.execute_cmd("whisper Ada = hello")
        assert "3 direct_message trigger" == self.judged()

    def test_a_number_is_a_number(self) -> None:
        """A text would fail each beat; it is refused where it is written, and nothing is stored."""
        with pytest.raises(ConfigurationError, match="tick_rate is 'abc'; it must be a whole numb"):
            self.ada_script.db.tick_rate = "abc"
        with pytest.raises(ConfigurationError, match="max_history is '5'; it must be a whole numb"):
            self.ada_script.attributes.batch_add(("persona", "Old."), ("max_history", "5"))
        for number in (0, -5, float("nan")):
            with pytest.raises(ConfigurationError, match="it must be a whole number from 1 to"):
                self.ada_script.db.tick_rate = number  # 0 would beat without a pause
        # Shown in turn, a text would be shown letter by letter.
        with pytest.raises(ConfigurationError, match="thinking_lines is 'Hm'; it must be a list"):
            self.ada_script.db.thinking_lines = "Hm"
        stored = {attribute.key for attribute in self.ada_script.attributes.all()}
        assert not stored & {"tick_rate", "max_history", "persona", "thinking_lines"}
        self.ada_script.db.max_history = None
        assert state.DEFAULTS["max_history"] == state.read(self.ada_script, "max_history")

    def test_the_rest_of_a_mapping_still_holds(self) -> None:
        public = self.channel()
        self.set(channel_configs={"Other": "loud", "Public": "context"})
        public.msg("what a day", senders=self.tom)
        assert "6 channel_config context" == self.judged()
