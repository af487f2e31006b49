"""Rights of every account on every endpoint, in every state of an assistant.

The table goes to docs/rights_api.md; EVENNIA_AI_WRITE_TABLES=1 writes it anew.
"""

import os
from pathlib import Path
from typing import Any

from django.test.utils import override_settings
from evennia.accounts.models import AccountDB
from evennia.utils.create import create_object

from evennia_ai import operations
from evennia_ai.core.safety.lockout import Cause
from evennia_ai.emergency import trigger_emergency_stop
from evennia_ai.runtime import services, state
from tests import postgres
from tests.api.cases import CASES, ROOM, Case
from tests.api.support import ApiTest
from tests.game.game_npcs import Guard
from tests.game.support import says
from tests.profiles import IS_THOROUGH

# Caps that no request reaches, and that can be raised.
PLENTY = {scope: {"tokens_per_day": 10**9} for scope in ("game", "assistant", "player")}
TABLE = Path(__file__).resolve().parents[2] / "docs" / "rights_api.md"
IS_WRITTEN = bool(os.environ.get("EVENNIA_AI_WRITE_TABLES"))
STATES = ("running", "stopped", "locked", "missing")
ANYBODY = ("health/", "schema/", "token/")
# Here the right depends on each assistant (or on the game's breakers, metrics, or the export), so
# it is checked after the body was read.
READ_FIRST = (
    "start/",
    "stop/",
    "emergency/stop/",
    "emergency/clear/",
    "metrics/",
    "/reset/",
    "=export",
)
PEOPLE = ("superuser", "admin", "builder with control", "builder", "player", "guest", "anonymous")
HEAD = """\
# Rights of the API

`tests/api/test_rights.py` makes this page and compares it with the answers of a game.

Each entry is the status that a well-formed request gets. If it depends on the state of the
assistant, there are four: running, stopped by a person, locked by itself, and no such assistant.
An address without an assistant has one. Somebody who "has control" passes the assistant's lock
`ai_control`; here it lets admins pass, and one builder. People who are not staff are not told
whether an assistant of a name exists, except under `me/`, which is for everybody, as in the game.
`{person}` is a player, `{memory}` what that player said in private, `{own}` what the person who
asks said, and `{lore}` a piece of lore.

"""


class TestRights(ApiTest):
    def setUp(self) -> None:
        super().setUp()
        brutus = create_object(Guard, key="Brutus", location=self.room1)
        brutus.locks.add("edit:perm(Builder)")
        for account in self.people.values():
            self._client(account)
        operations.add_goal(self.ada_script, "Count the books.")
        self.ask("whisper Ada = hello", says("Hello."), person=self.mira)
        self.stock(self.ada_script)
        self.begin_part()

    def prepare(self, wanted: str) -> None:
        """Put Ada, the only assistant, into a state; everything else is as after `setUp`."""
        self.take_back()
        self.people = {who: AccountDB.objects.get(pk=each.pk) for who, each in self.people.items()}
        if wanted == "missing":
            self.end_all()
            self.stock(None)
            return
        self.ada_script.work.breakers.get_or_create("tool:say")
        services.pool().breakers.get_or_create("llm:scripted")
        if wanted != "running":
            cause = Cause.KILL if wanted == "stopped" else Cause.REPEAT
            trigger_emergency_stop(self.ada_script, "a test", cause=cause)

    def statuses(self) -> list[dict[str, list[int]]]:
        """Return each request's statuses for each person, one per state.

        Those of whom `people_of` does not name are the page's.
        """
        table = [_unfolded(case, row) for case, row in zip(CASES, _kept_rows(), strict=True)]
        for place, wanted in enumerate(STATES[:1] if postgres.is_sampled() else STATES):
            self.prepare(wanted)
            for number, case in enumerate(CASES):
                if place and not case.of_one:
                    continue
                is_changed = False
                for who in people_of(number, wanted):
                    status = table[number][who][place] = self.status_of(case, who)
                    if wanted == STATES[0] and status in (401, 403):
                        self.refuse_unread(case, who, status)
                    is_changed |= status < 300 and case.changes
                    if is_changed and case.is_once:
                        self.prepare(wanted)
                        is_changed = False
                if is_changed:
                    self.prepare(wanted)
        return table

    def refuse_unread(self, case: Case, who: str, status: int) -> None:
        """Check that without the right the answer does not depend on the request's validity."""
        body = None if case.method == "GET" else {"nonsense": {"a": 1}}
        path = self.address(case.path, "Ada", who)
        path += "&nonsense=1" if "?" in path else "?nonsense=1"
        code = self.call(case.method, path, body, who=who).status_code
        if case.path not in ANYBODY and not case.path.endswith(READ_FIRST):
            assert status == code, (case, who)

    def status_of(self, case: Case, who: str) -> int:
        self.model.answers.clear()
        self.model.answers.append(says("Hello."))
        path = self.address(case.path, "Ada", who)
        body: Any = case.body
        if isinstance(body, dict):
            body = {k: self.room1.dbref if v == ROOM else v for k, v in body.items()}
        response = self.call(case.method, path, body, who=who)
        if response.status_code >= 400:
            assert response.told["error"]["message"]
        if response.status_code == 401:
            assert "Token" == response.headers["WWW-Authenticate"]
        return int(response.status_code)

    def test_everybody_gets_what_the_table_says(self) -> None:
        rows = []
        unbound = {f"{of}_per_minute": 0 for of in ("writes", "tokens", "anonymous")}
        config = {"metrics": "staff", "timeout_seconds": 60, **unbound}
        with override_settings(EVENNIA_AI_API_CONFIG=config, EVENNIA_AI_BUDGET_CONFIG=PLENTY):
            for case, statuses in zip(CASES, self.statuses(), strict=True):
                cells = [" ".join(map(str, _folded(statuses[who]))) for who in PEOPLE]
                rows.append(f"| {case.method} | `{case.path}` | {' | '.join(cells)} |")
                self.check(case, statuses)
        head = f"| | | {' | '.join(PEOPLE)} |\n|---|---|{'---|' * len(PEOPLE)}\n"
        table = f"{HEAD}{head}" + "\n".join(rows) + "\n"
        if IS_WRITTEN:
            TABLE.write_text(table, encoding="utf-8")
        assert TABLE.read_text(encoding="utf-8") == table

    def check(self, case: Case, found: dict[str, list[int]]) -> None:
        """Check the rules that hold for every row of the table."""
        every = [status for statuses in found.values() for status in statuses]
        assert not [status for status in every if status >= 500], case
        if case.path in ANYBODY:
            return
        assert {401} == set(found["anonymous"]), case
        assert {403} == set(found["guest"]), case
        if not case.of_oneself:
            assert {403} == set(found["player"]), case
        if case.of_one:
            staff = [found[who][-1] for who in ("superuser", "admin", "builder with control")]
            assert [404, 404, 403 if case.of_owner else 404] == staff, case


def people_of(number: int, wanted: str) -> tuple[str, ...]:
    """Return the people who send a request in a state, those with most rights last.

    While she runs, everybody does. In another state everybody does only in `make proof`, else a
    superuser and one other person in turns, since rights do not depend on the state. Nor do they
    depend on the database: on PostgreSQL a superuser sends each request once.
    """
    if postgres.is_sampled():
        return PEOPLE[:1]
    if wanted == STATES[0] or IS_THOROUGH or IS_WRITTEN:
        return PEOPLE[::-1]
    return PEOPLE[1 + number % (len(PEOPLE) - 1)], PEOPLE[0]


def _kept_rows() -> list[str]:
    """Return the rows of the page; while it is written anew, empty ones."""
    if IS_WRITTEN:
        return ["| " * (3 + len(PEOPLE))] * len(CASES)
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if "`" in line and line.startswith("| ")]


def _unfolded(case: Case, row: str) -> dict[str, list[int]]:
    """Return the statuses of a row, one per state."""
    count, cells = len(STATES) if case.of_one else 1, row.split("|")[3:]
    pairs = zip(PEOPLE, cells, strict=False)
    return {
        who: ([int(each) for each in cell.split()] * count or [0] * count)[:count]
        for who, cell in pairs
    }


def _folded(statuses: list[int]) -> list[int]:
    return statuses[:1] if len(set(statuses)) == 1 else statuses


class TestNobodyLearnsNames(ApiTest):
    def test_the_answers_are_the_same(self) -> None:
        """Answers do not tell whether an assistant of that name exists."""
        for case in CASES:
            if not case.of_one:
                continue
            for who in ("guest", None) if case.of_oneself else ("player", "guest", None):
                with self.subTest(f"{case.method} {case.path} {who}"):
                    responses = [
                        self.call(
                            case.method, self.address(case.path, key, who), case.body, who=who
                        )
                        for key in ("Ada", "Nobody")
                    ]
                    assert responses[0].content == responses[1].content
                    assert responses[0].status_code == responses[1].status_code

    def test_a_player_with_control_may_without_being_staff(self) -> None:
        """The lock `ai_control` may name anybody; reading the status is still for staff."""
        pia = self.people["player"]
        self.ada.locks.add(f"ai_control:pid({pia.id}) or id({pia.id})")
        assert 200 == self.call("POST", "assistants/Ada/stop/", who="player").status_code
        assert not state.read(self.ada_script, "enabled")
        self.fault(403, "GET", "assistants/Ada/status/", who="player")
