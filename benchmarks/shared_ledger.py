"""Two games on PostgreSQL with one ledger: ten thousand messages, and a ledger that is cut off.

    python -m benchmarks.shared_ledger [--messages 10000] [--cap TOKENS] [--cut SECONDS]

Each game is a server process with its own database; a player whispers, and the model's answer has
the number of the question. Afterwards each message was either answered once or refused in words
(lost 0, doubled 0), and the ledger's sums are those of its calls, and not above the cap of both.
The server is the one that EVENNIA_AI_TEST_POSTGRES names, else one of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tests import postgres

ROOT = Path(__file__).resolve().parents[1]
GAMES = ("lantern", "harbour")
QUESTION, ANSWER = re.compile(r"question (\d+)"), re.compile(r"answer (\d+)")
CUT_AFTER_SECONDS = 2.0


# ---- one game ----------------------------------------------------------------------------------


def set_up(folder: Path, told: Mapping[str, Any]) -> None:
    """Set up the demo game on PostgreSQL, with all tables and a small world."""
    os.environ |= {
        "DJANGO_SETTINGS_MODULE": "server.conf.settings",
        "EVENNIA_AI_MODEL": "scripted",
        "EVENNIA_AI_MEMORY_STORE": "inline",
        "EVENNIA_AI_EMBEDDINGS": "hashing",
    }
    import django
    from django.conf import settings

    settings.DATABASES["default"] |= told["database"]
    settings.DATABASES["ledger"] = told["ledger"]
    settings.EVENNIA_AI_LEDGER_CONFIG = {
        "database": "ledger",
        "game": told["game"],
        "retry_seconds": 1,
    }
    free = {"tokens_per_day": 0, "calls_per_minute": 0}
    settings.EVENNIA_AI_BUDGET_CONFIG = {
        "all_games": {"tokens_per_day": told["cap"]},
        **dict.fromkeys(("game", "assistant", "player"), free),
    }
    settings.EVENNIA_AI_SAFETY_CONFIG = {"on_limit": {"mode": "unattended"}}
    settings.LOG_DIR = str(folder)
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    django.setup()
    from django.core.management import call_command

    for name in ("default", "ledger"):
        call_command("migrate", database=name, interactive=False, verbosity=0)
    import evennia

    evennia._init()
    from tests.crash import world

    world.build()


def play(told: Mapping[str, Any]) -> dict[str, Any]:
    """Ask every question once; return the results."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        set_up(folder, told)
        from evennia_ai import audit
        from evennia_ai.budget import ledger
        from tests.crash import world
        from tests.game.support import whispers

        def decide(body: Mapping[str, Any]) -> bytes:
            number = QUESTION.findall(str(body["messages"]))[-1]
            return whispers(f"answer {number}")

        game = world.Game(folder, decide)
        game.start()
        print("ready", flush=True)
        sys.stdin.readline()
        began = time.monotonic()
        for number in range(told["messages"]):
            game.type(f"whisper Ada = question {number}")
            game.brain.bodies.clear()
        seconds = time.monotonic() - began
        # Without the echo of her own line, and the lines of the login.
        lines = [line for line in world.told(folder)[2:] if not line.startswith("You whisper")]
        others = Counter(re.sub(r"\d+", "N", x) for x in lines if not ANSWER.search(x))
        answers = Counter(int(n) for line in lines for n in ANSWER.findall(line))
        for _ in range(60):
            try:
                ledger.store().stop()
                break
            except Exception as error:
                print(error, file=sys.stderr)
                time.sleep(0.5)
        audit.flush()
    asked = told["messages"]
    return {
        "answered": len(answers),
        "doubled": sum(count > 1 for count in answers.values()),
        "told_otherwise": len(lines) - sum(answers.values()),
        "words": dict(others.most_common(5)),
        "lost": max(0, asked - len(lines)),
        "seconds": round(seconds, 1),
        "a_second": round(asked / seconds, 1),
    }


# ---- both --------------------------------------------------------------------------------------


def cut(server: Mapping[str, Any], name: str, seconds: float) -> None:
    """Block all connections to the ledger for some seconds."""
    postgres.run_sql(
        server,
        f"ALTER DATABASE {name} WITH ALLOW_CONNECTIONS false",
        f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'",
    )
    time.sleep(seconds)
    postgres.run_sql(server, f"ALTER DATABASE {name} WITH ALLOW_CONNECTIONS true")


def counted(ledger: Mapping[str, Any], cap: int) -> dict[str, Any]:
    """Return the ledger's sums, and the sums of its calls."""
    import psycopg

    options = {name: ledger[name.upper()] for name in ("host", "port", "user")}
    calls = "SELECT sum(prompt_tokens + completion_tokens), count(*) FROM evennia_ai_modelcall"
    total = (
        "SELECT prompt_tokens + completion_tokens, held_tokens FROM evennia_ai_budgettotal "
        "WHERE scope = 'all_games' AND period = ''"
    )
    with psycopg.connect(**options, dbname=ledger["NAME"]) as connection:
        (by_calls, number), (used, held) = (
            connection.execute(sql).fetchone() for sql in (calls, total)
        )
    used, by_calls = int(used), int(by_calls)
    over = max(0, used + int(held) - cap) if cap else 0
    return {"tokens": used, "held": held, "calls": number, "wrong": used - by_calls, "over": over}


def main() -> None:
    """Run both games; the exit status is 0 if everything is right."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=10_000)
    parser.add_argument("--cap", type=int, default=0, help="tokens a day of both games; 0: none")
    parser.add_argument("--cut", type=float, default=3.0, help="seconds; 0: never")
    parser.add_argument("--child", help="one game, as JSON")
    options = parser.parse_args()
    if options.child:
        print(json.dumps(play(json.loads(options.child))), flush=True)
        sys.stdout.flush()
        os._exit(0)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server = stack.enter_context(postgres.any_server(folder / "postgres"))
        ledger, *own = (stack.enter_context(postgres.new_database(server)) for _ in range(3))
        half = {"messages": options.messages // 2, "cap": options.cap, "ledger": ledger}
        games = run_both(own, half, server, options.cut)
        sums = counted(ledger, options.cap)
    print(json.dumps({"games": games, "ledger": sums}, indent=1))
    broken = sums["wrong"] or sums["over"] or any(each["lost"] + each["doubled"] for each in games)
    raise SystemExit(bool(broken))


def run_both(
    own: list[dict[str, Any]], half: Mapping[str, Any], server: Mapping[str, Any], seconds: float
) -> list[dict[str, Any]]:
    """Return the results of both games; the ledger is cut off in the middle."""
    games = []
    for name, database in zip(GAMES, own, strict=True):
        config = json.dumps({**half, "game": name, "database": database})
        command = [sys.executable, "-m", "benchmarks.shared_ledger", "--child", config]
        games.append(
            subprocess.Popen(
                command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        )
        stdout = games[-1].stdout
        assert stdout is not None
        # One after the other, since both migrate the ledger.
        while (line := stdout.readline()) != "ready\n":
            assert line, f"{name} ended before it was ready"
    for game in games:
        assert game.stdin is not None
        game.stdin.write("\n")
        game.stdin.flush()
    if seconds:
        time.sleep(CUT_AFTER_SECONDS)
        cut(server, half["ledger"]["NAME"], seconds)
    return [json.loads(game.communicate()[0].splitlines()[-1]) for game in games]


if __name__ == "__main__":
    main()
