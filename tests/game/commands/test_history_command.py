"""`history`: show, export and reset."""

import json
from pathlib import Path
from stat import S_IMODE
from tempfile import TemporaryDirectory

from django.test.utils import override_settings

from evennia_ai import operations
from evennia_ai.operations.files.exports import save_history
from evennia_ai.runtime import state
from tests.game.commands.ai_case import REFUSED_MEMORY, UNKNOWN, StaffCommandTest
from tests.game.support import whispers


class HistoryTest(StaffCommandTest):
    """The game's folder is an empty temporary one."""

    def setUp(self) -> None:
        super().setUp()
        self.folder = Path(self.enterContext(TemporaryDirectory()))
        self.enterContext(override_settings(GAME_DIR=str(self.folder)))

    def talk(self, times: int = 1) -> None:
        for number in range(times):
            self.ask(f"whisper ada = question {number}.", whispers(f"Answer |r{number}."))

    def files(self) -> list[Path]:
        return sorted(path for path in self.folder.rglob("*") if path.is_file())


class TestShowing(HistoryTest):
    def test_the_newest_page_is_the_first(self) -> None:
        """Markup in it is shown as text."""
        self.talk(15)
        for line in ("history ada", "history ada show", "history/show ada", "aihistory ada show 1"):
            shown = self.typed(line)
            self.typed("q")
            assert "question 14." in shown, line
            assert "Answer |r14." in shown, line
            assert "question 0." not in shown, line
        pages = self.typed("history ada show 99")
        assert "There is no page 99 of Ada's conversation, only " in pages
        last = int(pages.split("only ")[1].split(".")[0])
        assert "question 0." in self.typed(f"history ada show {last}")

    def test_an_empty_one_is_said_to_be_so(self) -> None:
        assert "Ada has no conversation yet." == self.typed("history")
        for page in ("0", "two", "-1", "1 2"):
            assert f"{page!r} is not a page" in self.typed(f"history ada show {page}"), page
        assert self.typed("history edda").startswith(UNKNOWN)
        assert "There is no 'history burn it'." in self.typed("history ada burn it")
        assert "There is no 'history reset now'." in self.typed("history ada reset now")


class TestExport(HistoryTest):
    def test_it_is_a_file_of_the_game_that_its_owner_alone_reads(self) -> None:
        self.talk()
        shown = self.typed("history ada export")
        (path,) = self.files()
        assert f"is in {path}" in shown.replace("\n", " ").replace("\u2060", "")
        content = json.loads(path.read_text(encoding="utf-8"))
        assert "Ada" == content["assistant"]
        assert self.ada_script.work.history == content["messages"]
        modes = [S_IMODE(item.stat().st_mode) for item in (path, path.parent)]
        assert [0o600, 0o700] == modes
        self.typed("history ada export")
        assert 2 == len(self.files())
        assert self.folder / "server" / "ai_exports" == path.parent

    def test_a_name_leads_nowhere_else(self) -> None:
        """Names with path parts must not leave the folder of exports."""
        for name in ("../../etc/passwd", "..", "エッダ", "a\\b:c*", "N" * 255):
            self.ada_script.key = name
            assert save_history(self.ada_script).ok, name
        assert {self.folder / "server" / "ai_exports"} == {path.parent for path in self.files()}
        assert 5 == len(self.files())

    def test_a_folder_that_cannot_be_written(self) -> None:
        (self.folder / "server").write_text("a file where the folder should be")
        shown = self.typed("history ada export")
        assert shown.startswith("The conversation could not be written: ")


class TestReset(HistoryTest):
    def test_as_it_is_typed_in_the_books(self) -> None:
        """`/history reset` and its variants, with and without the name."""
        for line in (
            "/history reset",
            "history reset ada",
            "history/reset ada",
            "history ada RESET",
        ):
            self.talk()
            operations.stop(self.ada_script, "test")
            assert "Ada starts a new conversation." == self.typed(line), line
            assert [] == state.read(self.ada_script, "conversation_history"), line
            assert not state.read(self.ada_script, "emergency_stop"), line

    def test_names_of_several_words(self) -> None:
        self.make("Old Tom")
        for line in ("history reset old tom", "history old tom reset"):
            assert "Old Tom starts a new conversation." == self.typed(line), line

    def test_whoever_has_no_say_over_her_only_looks(self) -> None:
        self.talk()
        self.lock_out()
        for line in ("history reset ada", "history ada export"):
            assert REFUSED_MEMORY == self.typed(line), line
        assert [] == self.files()
        assert "question 0" in self.typed("history ada")
