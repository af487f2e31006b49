"""The acts of a server process with its game's name in a shared ledger, one for each line."""

import io
import json
import sys
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import Any
from unittest.mock import patch

import evennia
from django.core.management import CommandError, call_command
from twisted.internet import reactor
from twisted.internet.task import Clock

from evennia_ai.budget.ledger import LedgerStore, Raise, raise_cap
from evennia_ai.budget.ledger.names import trouble
from evennia_ai.budget.ledger.reading import read_total
from evennia_ai.core.safety.budget import BudgetAccount
from evennia_ai.core.settings.budget import Scope
from evennia_ai.errors import ConfigurationError
from evennia_ai.messages import outgoing
from evennia_ai.models import LedgerGame
from evennia_ai.operations.monitoring import shared_ledger
from tests.ledger.outage_acts import call, caps


def _command(*arguments: str) -> str:
    output = io.StringIO()
    call_command("ai_ledger", *arguments, stdout=output)
    return output.getvalue()


def _beats() -> str:
    """Run three minutes of the server's periodic look; the first alert of staff fails."""
    clock, texts = Clock(), []

    def alert(text: str) -> None:
        texts.append(text)
        if len(texts) == 1:
            raise RuntimeError("nobody could be told")

    with patch.object(outgoing, "alert_staff", alert):
        shared_ledger.begin(clock)
        clock.pump([60, 60])
        shared_ledger._report("something else is wrong: at 12:00")
        shared_ledger._report("something else is wrong: at 12:01")
    return f"{len(texts)} told, {len(clock.getDelayedCalls())} due"


def _launch() -> str:
    """Run the reactor beside no game, as Evennia's launcher does."""
    with redirect_stdout(sys.stderr):
        evennia._init()
        reactor.callLater(0.5, reactor.stop)
        reactor.run()
    return _games()


def _games() -> str:
    return str(list(LedgerGame.objects.values_list("game", "owner")))


def named(_options: dict[str, Any]) -> Any:
    """Do the step of each line, and print "ok", its result, or its error."""
    store, mine = LedgerStore(), BudgetAccount(Scope.GAME, "", "")
    steps: dict[str, Callable[[], object]] = {
        "call": lambda: call(store, time.time()),
        "keep": lambda: store.maintain(caps(10_000), time.time()),
        "keep by a slow clock": lambda: store.maintain(caps(10_000), time.time() - 3600),
        "beats": _beats,
        "stop": store.stop,
        "erase": store.erase,
        "raise": lambda: raise_cap(Raise(mine, "tokens_per_day", 5.0, "Tom")),
        "used": lambda: f"used {read_total(mine).used('tokens')}",
        "check": trouble,
        "list": _command,
        "claim": lambda: _command("--claim"),
        "games": _games,
        "launch": _launch,
    }
    print(json.dumps("begun"), flush=True)
    for line in sys.stdin:
        try:
            answer = steps[line.strip()]()
        except (ConfigurationError, CommandError) as error:
            answer = str(error)
        print(json.dumps(answer or "ok"), flush=True)
