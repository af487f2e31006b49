"""Caps on the use of assistants in a running game: reached, raised, shared, and kept."""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.fakes.handle import FakeModel
from tests.journeys.clients import Enter, Player
from tests.journeys.game import UNHURRIED, Game
from tests.journeys.lines import SPENT, whisper_of
from tests.journeys.staging import find_trouble, measure_log, read_new_log, run

OWN_CAP, GAME_CAP, SHARED = 1_000_000, 3_000_000, 30_000
ASKED = (
    r'Ada asks \(question (\d+), about a limit\): "The cap on tokens a month of Ada leaves too '
    r"little: 99\d,\d{3} of 1,000,000 tokens of this month are used, and I am at work on "
    r"Tom's request\. "
    r"May I have ([\d,]+) tokens more, until the month ends\?"
)
PATH = "budget_config.assistant.tokens_per_month"
MOST_WHISPERS = 60
ENDS_SECONDS = 30.0

START_ANEW = """
from evennia_ai.budget import ledger
from evennia_ai.runtime import services
from evennia_ai.models import BudgetTotal, ModelCall
services.pool().breakers.reset_all()
operations.reset_history(ada)
for name in ('budget_config', 'safety_config', 'notes'):
    ada.attributes.remove(name)
ledger.store().flush()
BudgetTotal.objects.all().delete()
ModelCall.objects.all().delete()
"""
SPEND = """
from evennia_ai.budget import ledger
from evennia_ai.core.safety.prices import FREE
from evennia_ai.core.turn.turn import TokenUsage
from evennia_ai.models import BudgetTotal, ModelCall
now = ada.clock.seconds()
def spend(name, tokens):
    much = TokenUsage(tokens, 0)
    reservation = ledger.store().reserve(
        ledger.BillingContext(name),
        ledger.CostEstimate(much, price=FREE),
        ledger.config_for({}),
        now,
    )
    ledger.store().settle(reservation, much, now)
    ledger.store().flush()
ledger.store().flush()
"""
# Room for one more of Ada's calls and the last word after it, but for no second call.
LEAVE_ONE_CALL = f"""{SPEND}
call = ModelCall.objects.filter(assistant='ada').order_by('estimated_prompt_tokens')[0]
total = BudgetTotal.objects.get(scope='assistant', key='ada', period='')
room = 2 * call.estimated_prompt_tokens + 1300 + call.prompt_tokens // 2
spend('Ada', {OWN_CAP} - room - total.prompt_tokens - total.completion_tokens)
ada.db.budget_config = {{'assistant': {{'tokens_per_month': {OWN_CAP}}}}}
"""
# A second process, which uses the ledger as a game does. Its second line of input lets it end, once
# the cap is reached.
SECOND_PROCESS = """
import os, select, sys, time
os.environ["DJANGO_SETTINGS_MODULE"] = "server.conf.settings"
import django
django.setup()
import evennia
evennia._init()
from evennia_ai.budget import ledger
from evennia_ai.core.safety.prices import FREE
from evennia_ai.core.turn.turn import TokenUsage
from evennia_ai.errors import LimitReachedError
store, config = ledger.LedgerStore(), ledger.config_for({})
payer = ledger.BillingContext("Brass", "*#9")
need = ledger.CostEstimate(TokenUsage(80, 40), price=FREE)
passed = refused = 0
print("ready", flush=True)
sys.stdin.readline()
may_end = False
while True:
    may_end = may_end or bool(select.select([sys.stdin], [], [], 0.002)[0])
    try:
        held = store.reserve(payer, need, config, time.time())
        store.settle(held, TokenUsage(60, 20), time.time())
        passed += 1
    except LimitReachedError:
        refused += 1
        if may_end:
            break
store.stop()
print(passed, refused, flush=True)
"""


@pytest.fixture(scope="module")
def game_settings() -> dict[str, Any]:
    """Caps of tokens and of money for the whole game, and the prices of its model."""
    uncapped = {"tokens_per_day": 0, "calls_per_minute": 0}
    capped = {**uncapped, "tokens_per_month": GAME_CAP, "cost_per_month": 50.0}
    budget = {"game": capped, "assistant": uncapped, "player": {"tokens_per_day": 0}}
    return {
        **UNHURRIED,
        "EVENNIA_AI_BUDGET_CONFIG": budget,
        "EVENNIA_AI_PRICES": {"scripted-model": {"input": 1.0, "output": 2.0}},
    }


@pytest.fixture(autouse=True)
def rested(game: Game) -> Iterator[None]:
    """Nothing is used yet, and the test leaves no traceback."""
    with game.log_in_admin() as owner:
        run(owner, START_ANEW)
    start = measure_log(game)
    yield
    assert [] == find_trouble(read_new_log(game, start))


def take_steps(model: FakeModel, count: int) -> None:
    """Let the model take so many steps, and then answer with words."""
    calls = [{"tool": "write_note", "arguments": {"text": f"step {n}"}} for n in range(count)]
    model.queue(*({"calls": [call]} for call in calls))
    model.behave(content="So much I found.")


def nearly_use_up(tom: Player, owner: Player) -> None:
    """Leave room for one of three steps."""
    # After the first reply, the service's token count corrects the estimates of prompts.
    for words in ("hello", "hello again"):
        tom.ask(f"whisper ada = {words}", whisper_of(words))
    run(owner, LEAVE_ONE_CALL)
    run(owner, "operations.reset_history(ada)")


def totals(game: Game) -> tuple[int, int, int]:
    """The whole game's tokens used, tokens held, and calls this month."""
    [(used, held, calls)] = game.query(
        "SELECT prompt_tokens + completion_tokens, held_tokens, calls"
        " FROM evennia_ai_budgettotal WHERE scope = 'game' AND length(period) = 7"
    )
    return used, held, calls


def test_l15_a_cap_in_the_middle_of_a_task_and_a_no(
    game: Game, enter: Enter, admin: Player, model: FakeModel
) -> None:
    """The player gets the partial result, staff read what to raise; a raise survives a restart."""
    tom = enter("Tom")
    nearly_use_up(tom, admin)
    model.reset()
    take_steps(model, 1)
    tom.send("whisper ada = look it all up")
    number = admin.expect(ASKED)[1]
    admin.send(f"assistant answer {number} no")
    tom.expect(r'Ada whispers: "So much I found\."')
    admin.expect(rf"limit cost\.tokens_per_month reached: .*raise {re.escape(PATH)}")
    assert 2 == model.count_calls()
    assert "tools" not in model.read_calls()[-1]["body"]
    assert SPENT not in tom.transcript
    admin.ask("assistant budget ada raise tokens_per_month 50,000", r"is raised by 50,000, until")
    model.reset()
    tom.ask("whisper ada = and now?", whisper_of("and now?"))
    game.restart()
    tom = enter("Tom")
    tom.ask("whisper ada = and after?", whisper_of("and after?"), ENDS_SECONDS)
    with game.log_in_admin() as owner:
        shown = owner.ask("assistant budget ada", r"month +([\d,]+) tok +1,050,000 .*\n")
        assert int(shown[1].replace(",", "")) > OWN_CAP - 10_000
        assert "(50,000 of it granted)" in shown[0]
        owner.expect(r"by player .*Tom \d+ %")
    assert "question" not in tom.transcript


@contextmanager
def second_process(game: Game) -> Iterator[subprocess.Popen[str]]:
    """Another process of the same game on the same database; it begins with a line of input."""
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        [sys.executable, "-c", SECOND_PROCESS, str(game.folder)],
        cwd=game.folder,
        env=game.env,
        stdin=pipe,
        stdout=pipe,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert "ready\n" == process.stdout.readline()
        yield process
    finally:
        process.kill()
        process.communicate()


def test_l15_two_processes_share_one_ledger_and_one_cap(
    game: Game, enter: Enter, admin: Player, model: FakeModel
) -> None:
    """Both spend the rest at the same time: no token over the cap, and none uncounted."""
    run(admin, f"{SPEND}\nspend('Brass', {GAME_CAP - SHARED})")
    run(admin, "ada.db.safety_config = {'on_limit': {'mode': 'unattended'}}")
    tom, highest = enter("Tom"), 0
    with second_process(game) as other:
        tom.ask("whisper ada = before", whisper_of("before"))
        assert other.stdin is not None
        other.stdin.write("\n")
        other.stdin.flush()
        for number in range(MOST_WHISPERS):
            ending = f"{whisper_of(str(number))}|{re.escape(SPENT)}"
            answer = tom.ask(f"whisper ada = {number}", ending)
            used, held, _ = totals(game)
            highest = max(highest, used + held)
            if SPENT in answer[0]:
                break
        # A call is settled within a second; until then its whole reservation counts.
        run(admin, "from evennia_ai.budget import ledger\nledger.store().flush()")
        output, _ = other.communicate("\n", timeout=ENDS_SECONDS)
    passed, refused = map(int, output.split())
    used, held, calls = totals(game)
    assert SPENT in answer[0]
    assert 0 < refused
    assert GAME_CAP - 120 < used <= max(used, highest) <= GAME_CAP
    assert (0, calls) == (held, 1 + model.count_calls() + passed)
    rows = "FROM evennia_ai_modelcall WHERE state = 'settled'"
    sums = f"SELECT SUM(prompt_tokens + completion_tokens), COUNT(*), COUNT(DISTINCT owner) {rows}"
    assert [(used, calls, 2)] == game.query(sums)


def test_a_start_names_settings_about_money_that_are_wrong(game: Game) -> None:
    """`evennia reload` runs none of Django's checks, and nobody reads them before a player asks."""
    prices, start = game.settings.pop("EVENNIA_AI_PRICES"), measure_log(game)
    game.write_settings()
    game.reload()
    assert "no price is set for the model 'custom/scripted-model'" in read_new_log(game, start)
    game.settings["EVENNIA_AI_PRICES"] = prices
    game.write_settings()
    game.reload()
