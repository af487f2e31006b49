"""Artifacts of peers' tasks, their bounds, and the budgets of peers."""

import time
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import override_settings

from evennia_ai.budget import ledger
from evennia_ai.core.safety.budget import period_of
from evennia_ai.core.settings.budget import BudgetSpan
from evennia_ai.core.settings.services import A2aConfig
from evennia_ai.llm.scripted import completion
from evennia_ai.messages.incoming import person_of
from evennia_ai.models import BudgetTotal, ModelCall, PeerTask
from evennia_ai.operations import forget_everything
from evennia_ai.operations.peers import tasks
from evennia_ai.operations.peers.overview import list_peers, used_today
from evennia_ai.operations.peers.tasks import Given
from evennia_ai.operations.result import ProblemKind
from evennia_ai.operations.times import clock_of
from evennia_ai.tasks import peer_parts, peer_store
from tests.game.support import one_by_one, pump
from tests.game.tasks.errand_case import ErrandTest, reports_of

CONFIG = A2aConfig(port=4006, assistants=("*",))


def file(name: str, text: str = "x") -> dict[str, Any]:
    part = {"file": {"name": name, "type": "text/plain", "text": text}}
    return {"id": f"made:{name}", "name": name, "parts": [part]}


class TestParts(ErrandTest):
    """Ada has a task of a peer's."""

    def begin(self, **more: Any) -> PeerTask:
        given = Given(str(uuid4()), "Count the lamps.", **more)
        result = tasks.begin(self.ada_script, self.account, given, CONFIG)
        assert result.ok, result.message
        return result.data

    def ended(self, task: PeerTask) -> PeerTask:
        """The same task after all due work."""
        pump()
        task.refresh_from_db()
        tasks.follow(task)
        task.refresh_from_db()
        return task

    def is_talk(self, task: PeerTask) -> bool:
        event = peer_store.last_event(task.pk, kind=peer_store.STATUS)
        assert event is not None
        return bool(peer_store.read(event).get("is_talk"))

    def test_plain_words_are_marked_over_a_restart_of_whoever_looks(self) -> None:
        """The mark is stored, so that it does not depend on the time of reading."""
        self.model.answers.extend([completion("Seven."), reports_of("Seven.")])
        talk, task = self.ended(self.begin()), self.ended(self.begin())
        assert [peer_store.COMPLETED] * 2 == [talk.state, task.state]
        assert (True, False) == (self.is_talk(talk), self.is_talk(task))
        assert ["Seven."] == [each["parts"][0]["text"] for each in peer_store.made_of(talk.pk)]

    def test_what_is_no_json_is_no_data(self) -> None:
        """Such data could be stored, but not sent."""
        for data in ({"a": float("nan")}, {"a": "\ud800"}, {"a": "x" * 16_001}):
            with pytest.raises(ValueError, match=r"not JSON|at most"):
                peer_parts.data_part(data)

    def test_there_is_an_end_to_what_is_made(self) -> None:
        """The number and the total length are bounded, and a task that is over takes no more."""
        self.model.answers.append(reports_of("Seven."))
        task = self.begin()
        for number in range(peer_store.MOST_MADE):
            assert peer_store.make(task, file(f"{number}"), 1.0)
        assert not peer_store.make(task, file("more"), 1.0)
        long = self.begin()
        assert peer_store.make(long, file("a", "x" * (peer_store.LONGEST_MADE - 500)), 1.0)
        assert not peer_store.make(long, file("b", "x" * 500), 1.0)
        assert not peer_store.make(self.ended(task), file("late"), 1.0)

    def test_a_peer_that_takes_only_json_gets_it(self) -> None:
        """The model is told the accepted types in words."""
        self.model.answers.append(reports_of("Seven."))
        task = self.ended(self.begin(modes=("application/json",)))
        assert [{"data": {"answer": "Seven."}}] == peer_store.made_of(task.pk)[0]["parts"]
        assert "They take no plain text, but: application/json." in self.prompt(0)

    def test_who_is_forgotten_is_in_no_file(self) -> None:
        """The name is removed from artifacts that were made for others."""
        task = self.begin()
        peer_store.make(task, file("who.txt", f"It was {self.mira.key}."), 1.0)
        forget_everything(self.ada_script, person_of(self.mira))
        (artifact,) = peer_store.made_of(task.pk)
        text = artifact["parts"][0]["file"]["text"]
        assert (True, False) == (text.startswith("It was "), self.mira.key in text)

    def use(self, tokens: int) -> None:
        """Let the account have used so many tokens today."""
        day = period_of(BudgetSpan.DAY, time.time())
        key = f"*#{self.account.pk}"
        BudgetTotal.objects.create(scope="player", key=key, period=day, prompt_tokens=tokens)

    def test_a_peer_has_a_budget_of_its_own(self) -> None:
        """The refusal names the usage and the setting."""
        config = CONFIG.model_copy(update={"peer_tokens_per_day": 5_000})
        given = Given("m1", "Count the lamps.")
        self.use(4_999)
        assert tasks.begin(self.ada_script, self.account, given, config).ok
        BudgetTotal.objects.update(prompt_tokens=5_000)
        another = Given("m2", "Count the lamps.")
        refused = tasks.begin(self.ada_script, self.account, another, config)
        assert ProblemKind.UNAVAILABLE is refused.problem
        assert "has used 5,000 tokens today, of 5,000" in refused.message
        assert "peer_tokens_per_day in EVENNIA_AI_A2A_CONFIG" in refused.message

    def hide_the_ledger(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE evennia_ai_budgettotal RENAME TO elsewhere")
        self.enterContext(one_by_one())

    def test_a_ledger_that_cannot_be_read_is_told_a_peer(self) -> None:
        """A peer learns nothing of the game's setup."""
        config = CONFIG.model_copy(update={"peer_tokens_per_day": 5_000})
        self.hide_the_ledger()
        result = tasks.begin(self.ada_script, self.account, Given("m1", "Count."), config)
        assert ProblemKind.UNAVAILABLE is result.problem
        assert "try again later" in result.message
        assert "migrate" not in result.message

    def test_a_ledger_that_cannot_be_read_is_told_staff(self) -> None:
        """Staff read the command that mends it."""
        self.begin()
        self.hide_the_ledger()
        result = list_peers()
        assert ProblemKind.UNAVAILABLE is result.problem
        assert "evennia migrate" in result.message

    def test_who_asks_is_told_with_the_lowest_cap(self) -> None:
        """The game has a second cap, and words of tasks are not shown."""
        self.model.answers.append(reports_of("Seven lamps."))
        task = self.ended(self.begin())
        self.use(700)
        ledger.store().flush()
        ModelCall.objects.update(at=int(time.time()), is_priced=False)
        server = {"port": 4006, "peer_tokens_per_day": 5_000}
        caps = {"player": {"tokens_per_day": 9_000}}
        zone = override_settings(TIME_ZONE="Asia/Tokyo")
        with zone, override_settings(EVENNIA_AI_A2A_CONFIG=server, EVENNIA_AI_BUDGET_CONFIG=caps):
            result = list_peers(str(self.account.key))
            clock = clock_of(result.data.tasks[0]["made_at"])
        (peer,), (row,) = result.data.peers, result.data.tasks
        assert (1, 0, 5_000) == (peer["tasks"], peer["unfinished"], peer["tokens_allowed"])
        assert peer["tokens_today"] == used_today(self.account.pk) == 700
        assert (task.pk, "completed") == (row["task"], row["state"])
        assert f"  {clock}  " in result.message
        assert (1, True) == (peer["unpriced_calls"], "this month, unknown" in result.message)
        assert "lamps" not in str(result.data)


def test_what_is_not_base64_is_told_so() -> None:
    """Whether it has wrong signs, or signs outside of ASCII."""
    for encoded in ("a", "ü"):
        with pytest.raises(ValueError, match="that is not base64"):
            peer_parts.file_part("x.bin", "image/png", "", encoded, "")
