"""The outcome of each command for each person in each state, also written as a table."""

import os
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path

import pytest

from evennia_ai.commands import (
    CmdAssistant,
    aigoal,
    aiinteract,
    aimemory,
    configuring,
    history,
    lore_words,
    player,
    prompts,
    reaching,
)
from evennia_ai.commands.cmdset import COMMANDS
from evennia_ai.operations.rights import ACTS
from tests import postgres
from tests.game.rights.command_rows import ANYBODY, MISSING, RUNNING, SECTIONS, STATES, Row
from tests.game.rights.command_world import DONE, PEOPLE, CommandWorld, expected, outcome_of
from tests.profiles import IS_THOROUGH

TABLE = Path(__file__).resolve().parents[3] / "docs" / "rights_commands.md"
REWRITE = "EVENNIA_AI_WRITE_TABLES"
ROWS = [row for rows in SECTIONS.values() for row in rows]
Outcomes = Mapping[tuple[Row, str, str], str]
HEAD = """# Who gets what for each command

The tests make this page: each person typed each line, about an assistant that is running, one that
was stopped, one that locked itself, and one that does not exist. The table shows the result.

- **done**: it was done, or shown.
- **refused**: the person lacks the right, and is told which. Nothing is changed.
- **told**: it cannot be done, and the person is told why, or how to type it. Nothing is changed.
- **no such command**: this person has no such command, not even in help.

If a state makes a difference, it is named. The *builder in control* is named by the body's lock
`ai_control`, as with `lock ada = ai_control:perm(Admin) or pid(12)`; the other builder is not. A
right is one of the acts in `evennia_ai/operations/rights/acts.py`, which the REST API checks too.
"""


def _cell(row: Row, who: str, outcomes: Outcomes) -> str:
    """The outcome for one person when running, and the states in which it differs."""
    states = [standing for standing in STATES if standing != MISSING or row.is_of_one]
    usual = outcomes[row, who, RUNNING]
    others = [s for s in states if outcomes[row, who, s] != usual]
    return "; ".join([usual, *(f"{s}: {outcomes[row, who, s]}" for s in others)])


def as_document(outcomes: Outcomes) -> str:
    """The table, with a section for each kind of command."""
    parts = [HEAD]
    head = ("typed", "needs", *PEOPLE)
    for title, rows in SECTIONS.items():
        lines = [f"## {title}\n", f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
        for row in rows:
            typed = row.line.format(a="ada").replace("|", "\\|")
            typed += f" … {row.then}" if row.then else ""
            right = "" if row.act == ANYBODY else f", {ACTS[row.act]}"
            cells = (f"`{typed}`", f"{row.act}{right}", *(_cell(row, p, outcomes) for p in PEOPLE))
            lines.append(f"| {' | '.join(cells)} |")
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


# The verbs that may follow a command and an assistant's name.
VERBS = {
    "assistant config": set(configuring.VERBS) - {"show"} | {"show tick_rate"},
    "assistant messaging": set(reaching.VERBS),
    "assistant goal": set(aigoal.ENDS),
    "assistant budget": {"raise"},
    "assistant breakers": {"reset"},
    "assistant emergency": {"stop", "clear"},
    "assistant memory": {player.CORRECT, *filter(None, player.ALONE)},
    "assistant forget": {"me", "everything"},
    "history": set(history.WORDS),
    "aimemory": set(aimemory.VERBS) - {""},
    "aimemory lore": set(lore_words.VERBS),
    "aiaudit": {"at", "before", "diff", "check", "export", "archive"},
    "aigoal": set(aigoal.ENDS),
    "aiinteract": {*aiinteract.SWITCHES, aiinteract.TEST},
    "aiexec": {"log"},
    **{f"assistant {word}": set(verbs) for word, verbs in prompts.VERBS.items()},
}
CONTEXTS = set(prompts.VERBS["context"]) - {"list", "tick_event"}


class TestRows:
    @pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.__name__)
    def test_each_command_has_a_row(self, command: type) -> None:
        name = command.key if not command.key.startswith("__") else "@{a}"
        assert any(row.line.lstrip("/").startswith(name) for row in ROWS)

    @pytest.mark.parametrize("word", [word for word in CmdAssistant.words if word])
    def test_each_word_has_a_row(self, word: str) -> None:
        """A word may stand there as a switch."""
        typed = (f"assistant {word} ", f"aisetup/{word} ")
        assert any(f"{row.line} ".startswith(typed) for row in ROWS)

    @pytest.mark.parametrize("start", VERBS)
    def test_what_follows_a_word_has_a_row(self, start: str) -> None:
        """Each verb has a row; one context stands for all."""
        lines = [row.line for row in ROWS if row.line.lstrip("/").startswith(start)]
        missing = {
            verb
            for verb in VERBS[start] - CONTEXTS
            if not any(f" {verb} " in f"{line} " for line in lines)
        }
        assert set() == missing

    def test_the_page_is_what_the_rows_say(self) -> None:
        every = product(ROWS, PEOPLE, STATES)
        document = as_document({each: expected(*each) for each in every})
        if os.environ.get(REWRITE):
            TABLE.write_text(document, encoding="utf-8")
        assert document == TABLE.read_text(encoding="utf-8"), f"stale: {REWRITE}=1 renews it"


def people_of(standing: str) -> Iterator[tuple[Row, str]]:
    """The rows that a state makes a difference to, each with the people who type it.

    An assistant that runs hears each line from everybody; of the other states everybody is asked
    only in `make proof`, else a superuser and one other person in turns, since a state decides what
    can be done and a person who may. Rights do not depend on the database: on PostgreSQL each line
    is typed once.
    """
    for number, row in enumerate(ROWS):
        if standing == MISSING and not row.is_of_one:
            continue
        if postgres.is_sampled():
            people = PEOPLE[:1]
        elif standing == RUNNING or IS_THOROUGH:
            people = PEOPLE
        else:
            people = (PEOPLE[0], PEOPLE[1 + number % (len(PEOPLE) - 1)])
        yield from ((row, who) for who in people)


class TestRights(CommandWorld):
    def test_each_gets_what_the_table_says(self) -> None:
        """Each line in each state; `people_of` says by whom."""
        wrong: list[str] = []
        for standing in STATES[:1] if postgres.is_sampled() else STATES:
            self.put(standing)
            before = self.print_of()
            for row, who in people_of(standing):
                shown = self.shown(who, row, standing)
                got = outcome_of(shown, row)
                is_changed = self.print_of() != before
                if got != expected(row, who, standing) or (is_changed and got != DONE):
                    changed = ", and something changed" if is_changed else ""
                    wrong.append(f"{standing}, {who}: {row.line}: {got}{changed}: {shown}")
                if is_changed:
                    self.restore(before, standing)
                    before = self.print_of()
        assert "" == "\n".join(wrong)
