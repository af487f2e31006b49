"""`aigoal` and the notebook, and access to staff commands."""

from django.test.utils import override_settings

from evennia_ai import operations
from evennia_ai.commands import AssistantCmdSet
from evennia_ai.runtime import state
from tests.game.commands.ai_case import COMMANDS, REFUSED, UNKNOWN, StaffCommandTest

NO_GOAL = "Ada has no goal, and does nothing unasked. To give it one: assistant goal Ada = <text>"


class TestWhoHasThem(StaffCommandTest):
    def test_for_a_player_they_do_not_exist(self) -> None:
        for line in ("aigoal ada = rule the world", "/history reset ada", "aiexec ada say"):
            assert any("is not available" in seen for seen in self.of_mira(line)), line
        assert [] == operations.list_goals(self.ada_script).data.goals
        for command in COMMANDS:
            assert not command().access(self.mira, "cmd"), command
            assert command().access(self.tom, "cmd"), command

    def test_help_lists_them(self) -> None:
        shown = self.typed("help")
        for name in ("aiaudit", "aiexec", "aigoal", "aiinteract", "aimemory", "history"):
            assert name in shown, name
        assert "aigoal <name> done | drop <number>" in self.typed("help aigoal")
        assert "aimemory lore remove <number>" in self.typed("help aimemory")

    def test_a_slip_of_the_finger(self) -> None:
        self.tom.cmdset.add(AssistantCmdSet)
        assert '"aigoal"' in self.typed("aigaol")
        assert "aimemory" in self.typed("aimemori")

    @override_settings(EVENNIA_AI_STAFF_LOCK="all()")
    def test_the_setting_decides(self) -> None:
        """A game may count everybody as staff, which still gives nobody control of Ada."""
        assert [NO_GOAL] == self.of_mira("aigoal ada")
        refused = "You may not control Ada: that needs its lock 'ai_control:perm(Builder)'."
        assert [refused] == self.of_mira("aigoal ada = rule the world")


class TestGoals(StaffCommandTest):
    def test_goals_are_given_seen_and_ended(self) -> None:
        for line, expected in (
            ("aigoal ada", NO_GOAL),
            ("aigoal ada = Find the |ratlas", "Ada has goal 1."),
            ("aigoal ADA 8 = Sort = the cards", "Ada has goal 2."),
            ("aigoal", "2. Sort = the cards (priority 8)\n  1. Find the |ratlas (priority 5)"),
            ("aigoal ada done 2", "Ada: goal 2 is completed."),
            ("aigoal/drop ada 1", "Ada: goal 1 is dropped."),
            ("aigoal ada drop 1", "Ada: no open goal has the number 1; open are: none"),
        ):
            assert expected.strip() == self.typed(line), line

    def test_names_of_several_words(self) -> None:
        self.make("Old")
        self.make("Old Tom")
        assert "Old Tom has goal 1." == self.typed("aigoal old tom 7 = Sleep")
        assert "Old has goal 1." == self.typed("aigoal old = Wake")

    def test_what_is_typed_wrongly_changes_nothing(self) -> None:
        for line, expected in (
            (
                "aigoal ada high = x",
                "Ada has no new goal: 'high' is not a time; times are: at 18:30",
            ),
            ("aigoal ada 11 = x", "Ada has no new goal: priority is 11; it must be 1"),
            ("aigoal ada =", "Ada has no new goal: a goal needs words: what is to be reached?"),
            (
                "aigoal ada finish 3",
                "Ada has no goal finish 3, and",
            ),
            ("aigoal ada done", "Ada has no goal done, and"),
            ("aigoal edda = x", UNKNOWN),
        ):
            assert self.typed(line).startswith(expected), line
        for line in ("aigoal ada finish 3", "aigoal ada high = x"):
            assert "Usage: aigoal [<name>]" in self.typed(line)
        assert [] == operations.list_goals(self.ada_script).data.goals

    def test_goals_need_a_say_over_her(self) -> None:
        self.typed("aigoal ada = Sort")
        self.lock_out()
        for line in ("aigoal ada = x", "aigoal ada done 1", "aigoal ada drop 1"):
            assert REFUSED == self.typed(line), line
        assert "1. Sort (priority 5)" == self.typed("aigoal ada")


class TestNotes(StaffCommandTest):
    """`aimemory <name> notes`; the rest of it is in test_ai_commands_memory."""

    def note(self, text: str, person: str, is_private: bool) -> None:
        notes = state.read(self.ada_script, "notes")
        note = {
            "number": len(notes) + 1,
            "text": text,
            "at": 0.0,
            "person": person,
            "is_private": is_private,
        }
        state.write(self.ada_script, notes=[*notes, note])

    def test_an_empty_one(self) -> None:
        assert "Ada's notebook:\n  nothing" == self.typed("aimemory ada notes")

    def test_the_notebook_without_what_was_private(self) -> None:
        """Staff read open notes and their own private ones, and the number of the others."""
        tom, mira = f"*#{self.account.id}", f"#{self.mira.id}"
        self.note("The |rlamp is out", mira, False)
        self.note("Tom likes storms", tom, True)
        self.note("Mira is a spy", mira, True)
        lines = self.typed("aimemory notes").split("\n")
        assert "   1  1970-01-01  The |rlamp is out" in lines
        assert "   2  1970-01-01  Tom likes storms" in lines
        assert "  and 1 of private talks with others" == lines[-1]
        assert "spy" not in "\n".join(lines)

    def test_more_is_answered_with_how_it_is_typed(self) -> None:
        for line in ("aimemory ada notes lamps", "aimemory ada dance"):
            assert "Usage: aimemory [<name>]" in self.typed(line).replace("\n", " "), line
        assert self.typed("aimemory edda").startswith(UNKNOWN)
