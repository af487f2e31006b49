"""Two games that share a ledger, set up as docs/scale.md says: one cap over both."""

import os
import re
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.fakes.handle import MODEL_NAME, FakeModel
from tests.journeys import processes
from tests.journeys.clients import Player
from tests.journeys.game import ROOT, UNHURRIED, Game
from tests.journeys.lines import FAILURE_PATTERN, SPENT, whisper_of
from tests.journeys.staging import find_trouble, read_new_log, run
from tests.journeys.worker_bed import until
from tests.postgres import as_settings, new_database, own_server

GAMES = LANTERN, HARBOUR = "lantern", "harbour"
CAP, LEFT = 1_000_000, 30_000
MOST_WHISPERS = 40
TAKEN = r"another game has the name 'lantern' \(EVENNIA_AI_LEDGER_CONFIG\.game\)"
SPEND = f"""
from evennia_ai.budget import ledger
from evennia_ai.core.safety.prices import FREE
from evennia_ai.core.turn.turn import TokenUsage
much, now = TokenUsage({CAP - LEFT}, 0), ada.clock.seconds()
need = ledger.CostEstimate(much, price=FREE)
held = ledger.store().reserve(ledger.BillingContext('Ada'), need, ledger.config_for({{}}), now)
ledger.store().settle(held, much, now)
ledger.store().flush()
"""
HEALTH = """
from evennia_ai.operations.monitoring.equipment import equipment
parts = equipment().data.parts
told = [p['told'] + p['advice'] for p in parts if p['name'] == 'Shared ledger']
"""
FLUSH = "from evennia_ai.budget import ledger\nledger.store().flush()"


class Ledger:
    """The ledger's PostgreSQL, which can be stopped."""

    def __init__(self, server: Any, database: dict[str, Any]) -> None:
        self._server, self.database = server, database

    def stop(self) -> None:
        pid = self._server.get_pid()
        os.kill(pid, signal.SIGINT)
        processes.wait_for_end(pid, 30)

    def start(self) -> None:
        """Start it again, with all its data."""
        self._server.start()

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        options = {name.lower(): self.database[name] for name in ("HOST", "PORT", "USER")}
        with psycopg.connect(**options, dbname=self.database["NAME"]) as connection:
            return connection.execute(sql).fetchall()


@pytest.fixture(scope="module")
def ledger() -> Iterator[Ledger]:
    with (
        # Not in pytest's folder, from which another run may take the server user's read access.
        tempfile.TemporaryDirectory(prefix="evennia_ai_ledger_") as folder,
        own_server(Path(folder)) as server,
        new_database(as_settings(server.get_uri())) as database,
    ):
        yield Ledger(server, database)


def as_documented(database: dict[str, Any], name: str) -> str:
    """The settings that docs/scale.md tells each game to have, for this ledger."""
    text = (ROOT / "docs/scale.md").read_text()
    block = next(b for b in re.findall(r"```python\n(.*?)```", text, re.S) if "LEDGER_CONFIG" in b)
    for shown, here in (
        ('"NAME": "ledger"', f'"NAME": "{database["NAME"]}"'),
        ('"db.example.com"', f'"{database["HOST"]}", "PORT": "{database["PORT"]}"'),
        ('"me"', f'"{database["USER"]}"'),
        ('"game": "lantern"', f'"game": "{name}"'),
    ):
        assert shown in block
        block = block.replace(shown, here)
    return block


@pytest.fixture(scope="module")
def games(
    template: Path,
    model_server: FakeModel,
    ledger: Ledger,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Game, Game]]:
    """Both games, running; the second has the name of the first, by mistake."""
    model_server.reset()
    pair = []
    caps = {**UNHURRIED["EVENNIA_AI_BUDGET_CONFIG"], "all_games": {"tokens_per_month": CAP}}
    try:
        for _ in GAMES:
            game = Game.copy(template, tmp_path_factory.mktemp("shared") / "game")
            pair.append(game)
            game.ask_model_at(model_server.base_url, MODEL_NAME)
            secrets = game.folder / "server/conf/secret_settings.py"
            secrets.write_text(as_documented(ledger.database, LANTERN))
            game.settings |= {
                **UNHURRIED,
                "EVENNIA_AI_BUDGET_CONFIG": caps,
                "EVENNIA_AI_SAFETY_CONFIG": {"on_limit": {"mode": "unattended"}},
            }
            game.write_settings()
            if game is pair[0]:
                game.launch("migrate", "--database", "ledger")
            game.start()
        yield pair[0], pair[1]
    finally:
        for game in pair:
            game.clean_up()


@pytest.fixture
def staff(games: tuple[Game, Game]) -> Iterator[tuple[Player, Player]]:
    first, second = (game.log_in_admin() for game in games)
    with first, second:
        for owner in (first, second):
            run(owner, "ada.db.compact_enabled = False")
        yield first, second


@pytest.fixture
def players(games: tuple[Game, Game], staff: tuple[Player, Player]) -> Iterator[list[Player]]:
    """Tom in the first game, Mira in the second."""
    people: list[Player] = []
    for game, name in zip(games, ("Tom", "Mira"), strict=True):
        player = game.open_telnet()
        people.append(player)
        player.create_account(name)
        player.log_in(name)
    yield people
    for player in people:
        player.close()


def used(owner: Player) -> list[int]:
    """Tokens by `assistant budget`: of this game today, and of all games."""
    today = r"today +([\d,]+) tok"
    match = owner.ask("assistant budget", rf"{today}(?:.|\n)*All games together(?:.|\n)*?{today}")
    return [int(number.replace(",", "")) for number in match.groups()]


def test_two_games_on_one_ledger(
    games: tuple[Game, Game],
    staff: tuple[Player, Player],
    players: list[Player],
    ledger: Ledger,
    model: FakeModel,
) -> None:
    """A name used twice, a stopped ledger, and a cap that both games share."""
    first, second = staff
    owners = "SELECT owner FROM evennia_ai_ledgergame"
    before = ledger.query(owners)
    games[0].launch("status")  # this command runs a reactor too, and must not register as a game
    assert before == ledger.query(owners) != [("",)]
    _takes_a_name_of_its_own(games[1], second, players[1])
    run(first, SPEND)
    _outlasts_a_stop(ledger, staff, players, model)
    for number in range(MOST_WHISPERS):
        texts = [
            each.ask(f"whisper ada = {number}", f"{whisper_of(str(number))}|{re.escape(SPENT)}")[0]
            for each in players
        ]
        if all(SPENT in words for words in texts):
            break
    assert all(SPENT in words for words in texts)
    for owner in staff:
        run(owner, FLUSH)
    rows = dict(
        ledger.query(
            "SELECT game, SUM(prompt_tokens + completion_tokens) FROM evennia_ai_modelcall "
            "WHERE state = 'settled' GROUP BY game"
        )
    )
    assert set(GAMES) == set(rows)
    assert CAP - LEFT < sum(rows.values()) <= CAP
    [(calls,)] = ledger.query("SELECT COUNT(*) FROM evennia_ai_modelcall WHERE state = 'settled'")
    assert 1 + model.count_calls() == calls
    shown = [[int(rows[name]), int(sum(rows.values()))] for name in GAMES]
    assert shown == [used(owner) for owner in staff]
    assert [("0",)] == ledger.query(
        "SELECT MAX(held_tokens)::text FROM evennia_ai_budgettotal WHERE scope = 'all_games'"
    )
    assert [] == [line for game in games for line in find_trouble(read_new_log(game, 0))]


def _takes_a_name_of_its_own(game: Game, owner: Player, player: Player) -> None:
    """The second game is refused under the first one's name; its staff read why."""
    assert re.search(TAKEN, owner.transcript)
    player.ask("whisper ada = anybody?", FAILURE_PATTERN)
    owner.expect(TAKEN)
    owner.ask("assistant budget", f"No model call is made: {TAKEN}")
    assert re.search(r"lantern: last seen .* UTC\b", game.launch("ai_ledger"))
    assert re.search(TAKEN, run(owner, HEALTH))
    secrets = game.folder / "server/conf/secret_settings.py"
    secrets.write_text(secrets.read_text().replace('"game": "lantern"', '"game": "harbour"'))
    game.reload()
    player.ask("whisper ada = and now?", whisper_of("and now?"), 30)
    assert "called 'harbour' there" in run(owner, HEALTH)


def _outlasts_a_stop(
    ledger: Ledger, staff: tuple[Player, Player], players: list[Player], model: FakeModel
) -> None:
    """A stopped ledger means no model calls; both games recover by themselves."""
    ledger.stop()
    before = model.count_calls()
    for owner, player in zip(staff, players, strict=True):
        player.ask("whisper ada = are you there?", FAILURE_PATTERN)
        owner.expect(r"the ledger that this game shares .*cannot be reached")
        owner.ask("assistant budget", "No model call is made: the ledger that this game shares")
    assert before == model.count_calls()
    ledger.start()
    pattern = f"{whisper_of('back?')}|{FAILURE_PATTERN}"
    for player in players:
        # The ledger may be left alone for a moment longer.
        until(lambda player=player: "whispers" in player.ask("whisper ada = back?", pattern)[0])
