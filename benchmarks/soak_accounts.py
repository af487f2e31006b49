"""Expected and actual results of the soak of two games."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import psycopg

from benchmarks.soak_people import Site, Sleeper, Talker, Till
from tests.fakes.answers import compose_reply
from tests.journeys.staging import find_trouble

UNREAD = "SELECT count(*) FROM evennia_ai_memory WHERE indexed_as = '' AND kind <> 'lore'"
NO_VECTOR = (
    "SELECT count(*) FROM evennia_ai_memory m LEFT JOIN evennia_ai_memoryvector v "
    "ON v.memory_id = m.id WHERE v.memory_id IS NULL AND m.kind <> 'lore' AND NOT m.is_removed"
)
VECTORS = "SELECT count(*) FROM evennia_ai_memoryvector"
JOBS = "SELECT count(*) FROM evennia_ai_workjob"
QUEUE = "SELECT count(*) FROM procrastinate_jobs"
TURNS = (
    "SELECT prompt_tokens, completion_tokens FROM evennia_ai_modelcall "
    "WHERE state = 'settled' AND purpose = 'turn'"
)
OF_STATE = (
    "SELECT count(*), coalesce(sum(prompt_tokens + completion_tokens), 0)::bigint "
    "FROM evennia_ai_modelcall WHERE state = '{state}'"
)
ALL_GAMES = (
    "SELECT coalesce(sum(prompt_tokens + completion_tokens), 0)::bigint, "
    "coalesce(sum(held_tokens), 0)::bigint FROM evennia_ai_budgettotal "
    "WHERE scope = 'all_games' AND period = ''"
)
EACH_GAME = ALL_GAMES.replace("all_games", "game")
BY_CALLS = (
    "SELECT coalesce(sum(prompt_tokens + completion_tokens), 0)::bigint "
    "FROM evennia_ai_modelcall WHERE state <> 'released'"
)
# The log line of a server that was killed in the moment of speaking and started again.
CUT_IN_WORD = "cut off, and not repeated: "


@dataclass
class Figures:
    """Results.

    Attributes:
        messages, heard: messages to say, and messages that the games accepted.
        broken: violated invariants, in words; empty when all is well.
        cut_in_word: not answered, since the server was killed in the moment of speaking: it is not
            said again, and the log tells so.
        resaid: said again, since the server was killed before it said that it accepted the message.
        cut_off: calls whose end nobody could record; they count in full.
        tokens, tokens_of_model: by the ledger, and by the model.
        idle_workers: CPU seconds of a worker in a minute without work.
        connections: to the database, before anybody spoke and when all was done.
        rows: of Procrastinate's tables, in the end.
        rss_mb: resident memory of servers and workers, at the beginning, at most, and in the end.
    """

    messages: int
    heard: int = 0
    answered: int = 0
    lost: int = 0
    doubled: int = 0
    cut_in_word: int = 0
    resaid: int = 0
    over_cap: int = 0
    refused: int = 0
    calls: int = 0
    cut_off: int = 0
    tokens: int = 0
    tokens_of_model: int = 0
    nights: int = 0
    nights_not_seen: int = 0
    memories: int = 0
    without_vector: int = 0
    jobs_left: int = 0
    workers_killed: int = 0
    servers_killed: int = 0
    reloads: int = 0
    idle_workers: float = 0.0
    connections: list[int] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=dict)
    rss_mb: dict[str, list[int]] = field(default_factory=dict)
    seconds: float = 0.0
    load: list[float] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)


class Accounts:
    """Compares both games and their ledger with what players and the model know.

    Attributes:
        figures: the results.
        cap: tokens that may be used; 0: unlimited.
    """

    def __init__(
        self, sites: Sequence[Site], till: Till, ledger: dict[str, Any], messages: int
    ) -> None:
        """Start without results.

        Args:
            ledger: its database, as Django's settings name it.
        """
        self.figures = Figures(messages)
        self.cap = 0
        self._sites, self._till, self._ledger = sites, till, ledger

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Return rows of the ledger."""
        options = {name: self._ledger[name.upper()] for name in ("host", "port", "user")}
        with psycopg.connect(**options, dbname=self._ledger["NAME"]) as connection:
            return connection.execute(sql).fetchall()

    def count_connections(self) -> None:
        """Record the number of connections to all databases."""
        names = [site.bed.game.settings["DATABASES"]["default"]["NAME"] for site in self._sites]
        named = ", ".join(f"'{name}'" for name in (*names, self._ledger["NAME"]))
        ((count,),) = self.rows(
            f"SELECT count(*) FROM pg_stat_activity WHERE datname IN ({named}) "
            "AND pid <> pg_backend_pid()"
        )
        self.figures.connections.append(count)

    def used(self) -> int:
        """Return the tokens that both games have used or reserved; checks the cap, too."""
        ((used, held),) = self.rows(ALL_GAMES)
        self.figures.over_cap += bool(self.cap and used + held > self.cap)
        return int(used + held)

    def compare(self, talkers: Sequence[Talker], sleepers: Sequence[Sleeper]) -> None:
        """Compare everything except the games' tables with the expected values."""
        figures = self.figures
        for site in self._sites:
            self._compare_answers(site, [each for each in talkers if each.site is site])
            figures.broken += [f"{site.name}: {problem}" for problem in site.broken]
        for sleeper in sleepers:
            self._compare_nights(sleeper)
        self._compare_ledger()
        if figures.over_cap:
            figures.broken.append(f"the cap was passed at {figures.over_cap} looks")
        if not figures.refused:
            figures.broken.append("the cap that was lowered was never reached")

    def _compare_answers(self, site: Site, talkers: Sequence[Talker]) -> None:
        """Each thing that a game took was answered once, or cut off in mid-word, as it says."""
        figures, missing = self.figures, list[str]()
        for talker in talkers:
            lines = (*talker.heard, *talker.unheard)
            answers = {words: talker.player.count(compose_reply(words)) for words in lines}
            figures.heard += len(talker.heard)
            figures.resaid += len(talker.unheard)
            figures.answered += sum(answers[words] > 0 for words in talker.heard)
            missing += [words for words in talker.heard if not answers[words]]
            doubled = [words for words, times in answers.items() if times > 1]
            figures.doubled += len(doubled)
            figures.broken += [f"doubled: {site.name}, {words}" for words in doubled[:5]]
        path = site.bed.game.folder / "server/logs/server.log"
        log = path.read_text("utf-8", "replace")
        count = min(log.count(CUT_IN_WORD), len(missing))
        figures.cut_in_word += count
        if lost := len(missing) - count:
            figures.lost += lost
            figures.broken.append(f"{lost} lost: {site.name}, of {missing[:5]}")
        figures.broken += [f"{site.name}, log: {line}" for line in find_trouble(log)[:5]]

    def _compare_nights(self, sleeper: Sleeper) -> None:
        """Every night ends with the same, whoever was killed in it."""
        figures, nights = self.figures, sleeper.nights
        figures.nights += len(nights)
        figures.nights_not_seen += sleeper.broken_off
        others = [night for night in nights if night != nights[0]]
        figures.broken += [
            f"{sleeper.site.name}: a night ended otherwise: {each}"[:2000] for each in others[:2]
        ]

    def _compare_ledger(self) -> None:
        """What was settled is what the model was asked, and what it has more was cut off.

        A turn is one row of the ledger; of another call players may share the cost.
        """
        figures, given = self.figures, self._till.given
        ((used, held),), ((own, _),), ((by_calls,),) = map(
            self.rows, (ALL_GAMES, EACH_GAME, BY_CALLS)
        )
        ((_, settled),) = self.rows(OF_STATE.format(state="settled"))
        ((figures.cut_off, cut_off),) = self.rows(OF_STATE.format(state="cut_off"))
        ((still_open, _),) = self.rows(OF_STATE.format(state="open"))
        figures.calls, figures.tokens = len(given), used
        figures.tokens_of_model = asked = sum(map(sum, given))
        if strange := Counter(self.rows(TURNS)) - Counter(given):
            figures.broken.append(f"turns settled twice, or never made: {list(strange)[:5]}")
        if not settled <= asked <= settled + cut_off:
            figures.broken.append(f"of {asked} tokens {settled} were settled, {cut_off} cut off")
        if held or not used == own == by_calls:
            figures.broken.append(f"sums: {used}, {own} and {by_calls}, of which {held} are held")
        if still_open:
            figures.broken.append(f"{still_open} calls are open still")

    def compare_tables(self) -> None:
        """Check that nothing waits in the games' tables, and that each memory has its vector."""
        figures = self.figures
        for site in self._sites:
            rows = site.bed.rows
            figures.memories += rows(VECTORS)[0][0]
            figures.without_vector += rows(NO_VECTOR)[0][0]
            figures.jobs_left += rows(JOBS)[0][0]
            for table in ("jobs", "events", "workers"):
                name = f"procrastinate_{table}"
                count = rows(f"SELECT count(*) FROM {name}")[0][0]
                figures.rows[name] = figures.rows.get(name, 0) + count
        if figures.without_vector:
            figures.broken.append(f"{figures.without_vector} memories have no vector")
