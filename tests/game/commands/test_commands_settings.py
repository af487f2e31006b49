"""`assistant config` and `assistant messaging`: settings shown and changed."""

from evennia_ai.commands import AssistantCmdSet
from evennia_ai.core.settings.game import ATTRIBUTES, STATE
from evennia_ai.operations.settings.rows import HEADINGS, OTHERS, group_of
from evennia_ai.runtime import state
from tests.game.listening import HearingTest


class TestConfig(HearingTest):
    def test_all_are_listed_under_headings(self) -> None:
        state.write(self.ada_script, tick_rate=10)
        self.tom.cmdset.add(AssistantCmdSet)
        for line in (" config ada", " config", " config ada list", "/config/show ada"):
            shown = self.read(self.tom, f"assistant{line}")
            with self.subTest(line):
                assert "Ada's settings; * marks what differs" in shown
                assert all(f"{heading}:" in shown for heading in HEADINGS)
                assert " * tick_rate                            10" in shown
                is_whole = "execution_config.max_iterations_per_tick" in shown
                assert is_whole is line.endswith("list")

    def test_keys_with_their_defaults_are_counted(self) -> None:
        state.write(self.ada_script, hearing_config={"cooldown_seconds": 2.0})
        self.tom.cmdset.add(AssistantCmdSet)
        self.type(self.tom, "assistant config ada")
        shown = "\n".join(self.tom.seen)
        assert " * hearing_config                       11 settings\n" in shown
        assert " * hearing_config.cooldown_seconds      2.0\n" in shown
        assert "hearing_config.batch_seconds" not in shown

    def test_a_long_list_comes_page_by_page(self) -> None:
        shown = self.assistant("config ada list")
        assert "Who it is:" in shown
        assert "What it may do:" not in shown
        assert None is not self.tom.ndb._more
        self.tom.ndb._more.page_quit()

    def test_every_setting_has_a_heading(self) -> None:
        """A new setting has to be put under one of the headings."""
        names = [name for name in ATTRIBUTES if name not in STATE]
        assert ["assistant_key", "max_log_entries"] == [n for n in names if group_of(n) == OTHERS]

    def test_one_is_explained(self) -> None:
        state.write(self.ada_script, tick_rate=10)
        shown = self.assistant("config ada show tick_rate")
        assert shown.startswith("tick_rate = 10   (default 5)\n  type      ")
        assert "  does      seconds between beats" in shown

    def test_letters_of_all_languages_are_shown(self) -> None:
        state.write(self.ada_script, thinking_lines=["Ada überlegt."])
        assert '["Ada überlegt."]' in self.assistant("config ada show thinking_lines")

    def test_a_container_has_its_keys_below_it(self) -> None:
        shown = self.assistant("config ada show execution_config")
        assert "   execution_config.max_iterations_per_tick" in shown
        assert "its keys are in docs/prompts.md\n" in shown

    def test_one_is_set_and_unset(self) -> None:
        for line, number in (
            ("config ada set tick_rate 10", 10),
            ("/config ada set tick_rate 11", 11),
            ("/config/set ada tick_rate 12", 12),
            ("config ADA SET tick_rate = 13", 13),
            ("config set tick_rate 14", 14),
            ("config ada tick_rate = 15", 15),
        ):
            with self.subTest(line):
                assert "tick_rate" in self.assistant(line)
                assert number == state.read(self.ada_script, "tick_rate")
        self.assistant("config ada unset tick_rate")
        assert 5 == state.read(self.ada_script, "tick_rate")
        self.assistant("config ada set execution_config.max_iterations_per_tick 7")
        assert 7 == state.read(self.ada_script, "execution_config")["max_iterations_per_tick"]

    def test_a_name_of_several_words(self) -> None:
        script, _ = self.make("Old Tom")
        self.assistant("config old tom set persona Old Tom mends nets,  and grumbles.")
        assert "Old Tom mends nets,  and grumbles." == state.read(script, "persona")

    def test_what_cannot_be_set_says_what_could(self) -> None:
        shown = self.assistant("config ada set tick_rat 10")
        assert "tick_rate" in shown
        assert "Usage: assistant config <name>" in shown
        assert "Usage: assistant config <name>" in self.assistant("config ada set lockout {}")
        assert 5 == state.read(self.ada_script, "tick_rate")


class TestMessaging(HearingTest):
    def test_all_ways_are_shown(self) -> None:
        self.set(channel_configs={"Public": {"mode": "trigger", "trust": 0.1}, "Feed": "context"})
        shown = self.assistant("messaging ada")
        for expected in (
            "Ada is reached by:",
            "  hearing     on: whisper Ada = ..., and page Ada = ...\n",
            "  addressing  on: say @Ada ...",
            "  room        ignore: ",
            "  account     none",
            "  hops        3: ",
            "  channel     Public: trigger",
            "  channel     Feed: context",
            "Usage: assistant messaging <name> [hearing on | off, ",
        ):
            assert expected in shown

    def test_each_way_is_set(self) -> None:
        for line, name, value in (
            ("hearing off", "interaction_enabled", False),
            ("hearing ON", "interaction_enabled", True),
            ("addressing off", "enable_addressing", False),
            ("room context", "room_messages", "context"),
            ("hops 1", "max_agent_hops", 1),
        ):
            with self.subTest(line):
                assert name in self.assistant(f"messaging ada {line}")
                assert value == state.read(self.ada_script, name)

    def test_channel_and_account_are_the_words_of_their_own(self) -> None:
        self.channel("Staff Talk").disconnect(self.ada)
        shown = self.assistant("messaging ada channel staff talk = trigger")
        assert "Ada listens to Staff Talk: trigger." == shown
        assert {"Staff Talk": "trigger"} == self.stored("channel_configs")
        assert "Ada has an account now" in self.assistant("messaging ada account")
        shown = self.assistant("messaging ada")
        assert "  account     yes" in shown
        assert "  channel     Staff Talk: trigger" in shown

    def test_a_channel_for_a_name_of_several_words(self) -> None:
        self.channel("Staff Talk")
        script, _ = self.make("Old Tom")
        assert "Old Tom listens to Staff Talk: context." == self.assistant(
            "channel old tom staff talk = context"
        )
        assert {"Staff Talk": "context"} == state.read(script, "channel_configs")
