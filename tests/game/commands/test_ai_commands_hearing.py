"""`aiinteract`: how she hears, and how she would judge a message."""

from evennia_ai import operations
from evennia_ai.runtime import state
from tests.game.commands.ai_case import REFUSED_SETTINGS, UNKNOWN, StaffCommandTest
from tests.game.support import whispers


class TestTrying(StaffCommandTest):
    def test_a_message_is_judged_as_said_and_as_whispered(self) -> None:
        lines = self.typed("aiinteract ada test hello there").split("\n")
        assert "Ada would take this from Tom" == lines[0]
        as_say = "ignore, by rule 7 default (Anything else.), trust 0.4 (say 0.4)"
        assert f"  as a say: {as_say}" == lines[1]
        assert lines[2].startswith("  as a whisper: trigger, by rule 3 direct_message (A whisper")

    def test_each_way_of_saying_it(self) -> None:
        for line, expected in (
            ("say @ada hello", "as a say: trigger, by rule 2 direct_address"),
            ("page hello", "as a page: trigger, by rule 3 direct_message"),
            ("pose waves at @ada", "as a pose: trigger, by rule 2 direct_address"),
            ('WHISPER "quoted', "as a whisper: trigger, by rule 3 direct_message"),
            ("{name} $func(x) {}", "as a say: ignore, by rule 7 default"),
        ):
            assert expected in self.typed(f"aiinteract ada test {line}"), line

    def test_the_verdict_is_that_of_the_real_message(self) -> None:
        state.write(self.ada_script, room_messages="context", trigger_permissions=["Builder"])
        for line in ("hello", "@ada hello", "@mira hello", "@Nobody hello"):
            shown = self.typed(f"aiinteract ada test say {line}")
            self.type(self.tom, f"say {line}")
            verdict = self.ada_script.work.decisions.newest()[0].verdict
            words = f"{verdict.outcome.value}, by rule {verdict.rule} {verdict.name} "
            assert words in shown, line

    def test_nothing_is_said_queued_recorded_or_ended(self) -> None:
        """A tried message does not even end Mira's conversation, as a real one would."""
        work = self.ada_script.work
        work.conversations.begin(f"room {self.room1.dbref}", f"#{self.mira.id}", 0.0, 60.0)
        before = (work.decisions.count, dict(work.conversations.by_place), list(work.inbox))
        self.forget()
        with self.statements() as statements:
            self.typed("aiinteract ada test say @mira and @ada, hello")
        changing = [q["sql"] for q in statements if not q["sql"].startswith("SELECT")]
        after = (work.decisions.count, dict(work.conversations.by_place), list(work.inbox))
        assert before == after
        assert ([], []) == (changing, self.mira.seen)

    def test_what_would_keep_her_silent_is_said_too(self) -> None:
        operations.hush(self.ada_script, self.tom)
        assert "now nobody would be answered: it is hushed in Room" in self.typed(
            "aiinteract ada test hello"
        )
        operations.stop(self.ada_script, "test")
        assert "now nobody would be answered: an emergency stop is active" in self.typed(
            "aiinteract ada test hello"
        )

    def test_there_must_be_something_to_judge(self) -> None:
        nothing = "There is nothing to check: type what would be said."
        assert nothing == self.typed("aiinteract ada test")
        shown = self.typed("aiinteract ada test |r")
        assert "There are no words in that, so nobody would hear anything." == shown
        self.ada_script.work = None
        for line in ("aiinteract ada", "aiinteract ada test hello"):
            assert "Ada is not running, so it hears nothing." == self.typed(line)


class TestSeeing(StaffCommandTest):
    def test_how_she_hears(self) -> None:
        state.write(self.ada_script, trigger_permissions=["|rBuilder"], channel_configs={"P": "x"})
        operations.set_muted(self.ada_script, self.mira, True)
        operations.hush(self.ada_script, self.tom, 2)
        place = f"room {self.room1.dbref}"
        self.ada_script.work.conversations.begin(place, f"#{self.tom.id}", 0.0, 60.0)
        shown = self.typed("aiinteract")
        for expected in (
            "Ada: hears and answers",
            "interaction_enabled  on",
            "trigger_permissions  |rBuilder",
            "channel_configs      P: x",
            "trust_overrides      none",
            "muted by             TestAccount2",
            "hushed in            Room, 120 s more",
            "talks with           Tom in Room, 60 s more",
        ):
            assert expected in shown, expected

    def test_what_she_heard_last(self) -> None:
        self.ask("whisper ada = hello", whispers("Hello."))
        self.type(self.tom, "say good evening")
        shown = self.typed("aiinteract ada")
        assert "Tom, whisper 'hello': trigger" in shown
        assert "Tom, say 'good evening': ignore" in shown

    def test_what_waits(self) -> None:
        assert "  waiting              nobody\n  heard last" in self.typed("aiinteract ada")
        self.type(self.tom, "whisper ada = hello")
        assert "  waiting\n     1  Tom, whisper\n  heard last" in self.typed("aiinteract ada")

    def test_wrong_settings_are_told(self) -> None:
        state.write(self.ada_script, room_messages="often")
        self.type(self.tom, "say hello")
        assert "ignored              room_messages is 'often'" in self.typed("aiinteract ada")


class TestSwitching(StaffCommandTest):
    def test_she_is_deaf_and_hears_again(self) -> None:
        self.typed("aiinteract ada off")
        assert state.read(self.ada_script, "interaction_enabled") is False
        assert "ignore, by rule 0 interaction_disabled" in self.typed("aiinteract ada test hello")
        self.typed("aiinteract/on ada")
        assert state.read(self.ada_script, "interaction_enabled") is True

    def test_it_needs_a_say_over_her(self) -> None:
        self.lock_out()
        assert REFUSED_SETTINGS == self.typed("aiinteract ada off")
        assert state.read(self.ada_script, "interaction_enabled") is True
        assert self.typed("aiinteract ada").startswith("Ada: hears and answers")

    def test_what_it_does_not_know(self) -> None:
        for line in ("aiinteract ada loud", "aiinteract ada on now"):
            assert "Usage: aiinteract [<name>]" in self.typed(line), line
        assert self.typed("aiinteract edda").startswith(UNKNOWN)
