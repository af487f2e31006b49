"""Private words to a specialist, which must not come back in a public report."""

from typing import Any

from evennia_ai.llm.scripted import completion
from evennia_ai.runtime import state
from tests.game.memory.memory_case import MemoryTest
from tests.game.support import says, whispers
from tests.game.tasks.delegating import DelegationTest, hands_on, reports

SECRET = "xylophone"
WORDS = f"the {SECRET} is under the pier"
# Every tool that stores words, and every tool that finds them again.
KEEPING: dict[str, dict[str, Any]] = {
    "store_memory": {"text": WORDS},
    "add_journal_entry": {"text": WORDS},
    "write_note": {"text": WORDS},
    "create_project": {"project_key": SECRET, "summary": WORDS},
}
FINDING: dict[str, dict[str, Any]] = {
    "recall_memories": {"query": "what is under the pier"},
    "read_journal": {},
    "search_journal": {"words": "pier"},
    "read_notes": {},
    "list_projects": {},
    "my_state": {},
}
ASKS_ALOUD = "say @Ada ask Brass what lies under the pier"
ASKS_ALONE = "whisper Ada = ask Brass what lies under the pier"


class PrivateReportTest(MemoryTest, DelegationTest):
    """Tom told Brass a secret, who stored it with every tool."""

    def setUp(self) -> None:
        super().setUp()
        self.mira.account = self.account2
        self.allow(self.brass_script, calls_per_reply=10)
        reply = completion(None, *KEEPING.items())
        self.ask(f"whisper Brass = {WORDS}", reply, whispers("I see."))
        assert '"success": false' not in str(self.model.bodies[-1])
        self.catch_up()
        self.model.bodies.clear()
        self.forget()

    def hand_on(self, line: str, person: Any = None) -> str:
        """Somebody asks Ada, who asks Brass, who looks everywhere.

        Returns the requests of Brass.
        """
        looks = completion(None, *FINDING.items())
        answers = hands_on("What lies under the pier?"), looks, reports("Sand."), says("Sand.")
        self.ask(line, *answers, person=person)
        assert not self.model.answers
        return str(self.model.bodies[1:3])


class TestPrivateReports(PrivateReportTest):
    """A report has the audience of its task."""

    def test_the_specialist_has_it(self) -> None:
        """Every tool except `my_state` finds it when Tom alone asks."""
        looks = completion(None, *FINDING.items())
        self.ask("whisper Brass = what lies under the pier?", looks, whispers("You know."))
        results = self.model.bodies[1]["messages"][-len(FINDING) :]
        for name, result in zip(FINDING, results, strict=True):
            with self.subTest(name):
                assert (name == "my_state") != (SECRET in str(result))

    def test_a_task_for_others_finds_nothing_of_it(self) -> None:
        """Aloud, even Tom's own task does not find it."""
        for line, person in (
            (ASKS_ALOUD, self.mira),
            (ASKS_ALOUD, self.tom),
            (ASKS_ALONE, self.mira),
        ):
            with self.subTest(line, by=person.key):
                self.model.bodies.clear()
                assert SECRET not in self.hand_on(line, person)

    def test_a_report_for_one_alone_is_said_aloud_by_nobody(self) -> None:
        """Ada says the report aloud, and it is whispered to Tom instead."""
        assert SECRET in self.hand_on(ASKS_ALONE)
        self.ask(ASKS_ALONE, hands_on("What?"), reports(WORDS), says(WORDS))
        assert SECRET not in "\n".join(self.mira.seen)
        assert f'Ada whispers: "{WORDS}' in "\n".join(self.tom.seen)

    def test_nothing_of_it_is_kept_where_all_see_it(self) -> None:
        self.ask(ASKS_ALONE, hands_on("What?"), reports(WORDS), says(WORDS))
        for script in (self.ada_script, self.brass_script):
            history = state.read(script, "conversation_history")
            owners = {each.get("private_to") for each in history if SECRET in str(each)}
            assert {self.id_of(self.tom)} == owners, script.key
        assert SECRET not in str(self.happened)
