"""`aiexec`: tools listed, and run by hand."""

from evennia_ai import operations
from tests.game.commands.ai_case import REFUSED, UNKNOWN, StaffCommandTest
from tests.game.support import says


class TestSeeing(StaffCommandTest):
    def test_all_tools_with_what_they_take(self) -> None:
        shown = self.typed("aiexec ada")
        self.typed("q")
        assert shown.startswith("Ada has ")
        for expected in ("Tool", "Category", "Takes", "text"):
            assert expected in shown, expected

    def test_one_tool_in_words(self) -> None:
        shown = self.typed("aiexec ada whisper ?")
        assert shown.startswith("whisper (")
        assert "  target         text" in shown
        assert "  message        text" in shown

    def test_an_unknown_tool(self) -> None:
        for line in ("aiexec ada wisper", "aiexec ada wisper ?", "aiexec ada wisper {}"):
            shown = self.typed(line)
            assert "Ada has no tool 'wisper'. Did you mean whisper?" in shown, line
            assert "Usage: aiexec <name>" in shown, line
        assert "Ada has no tool '|rX'." in self.typed("aiexec ada |rX")
        assert self.typed("aiexec edda say ?").startswith(UNKNOWN)

    def test_what_was_called(self) -> None:
        assert self.typed("aiexec ada log").startswith("Ada has not called a tool yet")
        self.ask("say @ada hello", says("Hello |rTom."))
        shown = self.typed("aiexec ada log")
        for expected in ("The last tool calls of Ada", "say", "Hello |rTom.", "done"):
            assert expected in shown, expected
        assert "say: 1 call, 0 errors" in shown


class TestRunning(StaffCommandTest):
    def test_a_tool_is_run_as_she_would(self) -> None:
        """Arguments are given as text, as pairs, and as JSON."""
        self.forget()
        self.typed("aiexec ada say Good evening, all of you.")
        shown = self.typed('aiexec ada whisper {"target": "Mira", "message": "psst |r"}')
        assert "Ada: whispered to Mira" == shown.splitlines()[-1].strip()
        self.typed("aiexec/ada say message = Ho")
        heard = self.mira.heard_from(self.ada)
        assert 'Ada says, "Good evening, all of you."' in heard
        assert 'Ada whispers: "psst |r"' in heard
        why = self.typed("assistant why ada")
        assert " had me use a tool at " in why
        assert "; I did it." in why

    def test_names_of_several_words(self) -> None:
        _, body = self.make("Old Tom")
        self.forget()
        self.typed("aiexec old tom say message = Ho")
        assert ['Old Tom says, "Ho"'] == self.mira.heard_from(body)

    def test_what_is_typed_wrongly_is_not_run(self) -> None:
        self.forget()
        for line, expected in (
            ("aiexec ada whisper Hello all", "whisper: say which value is which"),
            ("aiexec ada say mesage = a", "say: it has no argument mesage; it takes message"),
            ('aiexec ada say {"message"', "say: that is not a JSON object"),
            ("aiexec ada say", "message"),
        ):
            shown = self.typed(line)
            assert expected in shown, line
            assert "Usage: aiexec <name>" in shown, line
        assert [] == self.mira.heard_from(self.ada)

    def test_it_needs_a_say_over_her(self) -> None:
        self.lock_out()
        self.forget()
        assert REFUSED == self.typed("aiexec ada say message = Ho")
        assert [] == self.mira.heard_from(self.ada)
        assert self.typed("aiexec ada say ?").startswith("say (")

    def test_a_stopped_assistant_does_nothing(self) -> None:
        operations.stop(self.ada_script, "test")
        self.forget()
        shown = self.typed("aiexec ada say message = Ho")
        assert shown
        assert [] == self.mira.heard_from(self.ada)
        assert self.typed("aiexec edda").startswith(UNKNOWN)
