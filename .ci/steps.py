"""Steps of `suite.py`: the programs that each runs, and which steps make up a run."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from selection import CORE, ONCE, RARE, SERVERS, SMOKE, STORED

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from evennia_ai import __version__  # noqa: E402  found by the line above

COVER = tuple(f"--cov=evennia_ai.{room}" for room in ("core", "resilience", "engine", "errors"))
PROCESSORS = len(os.sched_getaffinity(0))
AT_ONCE, SERVERS_AT_ONCE = PROCESSORS, max(2 * PROCESSORS - 1, 1)
# The oldest version that setup.cfg allows; every other step runs with the newest.
OLDEST_MEM0 = "2.2.0"
MEM0_FOLDER = f".venvs/mem0-{OLDEST_MEM0}"


def pytest_on(workers: int, *options: str) -> tuple[str, ...]:
    """Return a run of pytest with that many workers; the tests of a file share a worker."""
    spread = ("--dist", "loadfile", "--no-loadscope-reorder")
    return ("pytest", "-q", "-n", f"{workers}", *spread, *options)


def on_postgres(*command: str, is_default: bool = False) -> tuple[str, ...]:
    """Return a command with its own PostgreSQL server, which ends with it.

    Args:
        is_default: use it as every test's database, not only where a test asks for it.
    """
    return ("python", "-m", "tests.postgres", *(("--default",) if is_default else ()), *command)


def without(*places: str) -> tuple[str, ...]:
    """Return options that leave out folders, files and single tests."""
    return tuple(f"--{'deselect' if '::' in place else 'ignore'}={place}" for place in places)


STEPS = {
    "lint": (("ruff", "check", "."), ("ruff", "format", "--check", ".")),
    "types": (("mypy",),),
    "floors": (("lint-imports",),),
    "tables": (("python", ".ci/docs.py", "--check"),),
    "mutants": (("python", "-m", "tests.mutants"),),
    "core": (("pytest", "-q", *CORE),),
    "cover": (pytest_on(PROCESSORS, *CORE, *COVER, "--cov-branch", "--cov-fail-under=100"),),
    "units": (on_postgres(*pytest_on(AT_ONCE, *without(*CORE, *SERVERS, *RARE))),),
    "servers": (on_postgres(*pytest_on(SERVERS_AT_ONCE, *SERVERS, *without(*RARE))),),
    "units-again": (
        on_postgres(
            *pytest_on(AT_ONCE, *without(*SERVERS, *sorted({*ONCE} - {*STORED}))),
            is_default=True,
        ),
    ),
    "servers-again": (
        on_postgres(
            *pytest_on(
                SERVERS_AT_ONCE,
                *(room for room in SERVERS if room not in ONCE),
                *without(*ONCE, *RARE),
            )
        ),
    ),
    "smoke": (pytest_on(PROCESSORS, *SMOKE),),
    "postgres": (
        on_postgres(*pytest_on(AT_ONCE, *without(*CORE, *SERVERS, *STORED)), is_default=True),
    ),
    "core-thorough": (pytest_on(PROCESSORS, *CORE),),
    "units-thorough": (on_postgres(*pytest_on(PROCESSORS + 1, *without(*CORE, *SERVERS))),),
    "servers-thorough": (on_postgres(*pytest_on(2 * PROCESSORS, *SERVERS)),),
    "stored-thorough": (on_postgres(*pytest_on(PROCESSORS + 1, *STORED), is_default=True),),
    "oldest": (
        (
            *("uv", "pip", "install", "--quiet", "--no-deps", "--target", MEM0_FOLDER),
            f"mem0ai=={OLDEST_MEM0}",
        ),
        (
            *("pytest", "-q", "-o", f"pythonpath={MEM0_FOLDER} ."),
            *("tests/memory/test_store_contract.py", "tests/memory/test_store_embedded.py"),
            "tests/memory/test_store_properties.py",
        ),
    ),
    "format": (("ruff", "check", "--fix", "--quiet", "."), ("ruff", "format", ".")),
    "docs": (("python", ".ci/docs.py"),),
    "wheel": (
        ("uv", "build", "--quiet", "--out-dir", "dist"),
        (
            "uv",
            "tool",
            "run",
            "twine",
            "check",
            "--strict",
            f"dist/evennia_ai-{__version__}-py3-none-any.whl",
        ),
    ),
    "bench": tuple(
        ("python", "-m", f"benchmarks.{name}")
        for name in (
            "replies",
            "hearing",
            "growth",
            "prompts",
            "ledger",
            "stop",
            "audit",
            "api_latency",
            "memory",
            "memory_week",
            "workbench_pages",
            "workbench_stream",
        )
    ),
}
# Peers of the resilience benchmark, if the comparison script exists.
PEERS = ROOT.parent / "shared" / "bench" / "resilience_peers.py"
if PEERS.exists():
    STEPS["bench"] += (("python", str(PEERS), "--ours", "benchmarks.resilience_ours"),)
# Conversations whose licence forbids copying them here, if the file exists.
TALKS = ROOT.parent / "shared" / "bench" / "locomo_dev.json"
if TALKS.exists():
    STEPS["bench"] += (("python", "-m", "benchmarks.recall", "--data", str(TALKS)),)
CHECKS = ("lint", "types", "floors", "tables")
# Steps in brackets run at the same time: while one waits for servers, or has work for only one
# processor, the others have the processors.
Plan = Sequence[str | tuple[str, ...]]
ALL: Plan = (("cover", *CHECKS), ("units", "servers"))
# On a further Python: everything again if it brings another Evennia, else the smoke test.
NEXT_EVENNIA: Plan = (("units-again", "servers-again", "tables"),)
SAME_EVENNIA: Plan = (("smoke", "tables"),)
# Steps on the first Python, on the first with another Evennia, and on any further one.
USUAL = (ALL, NEXT_EVENNIA, SAME_EVENNIA)
# The profile of tests/conftest.py for a step; overrides the caller's environment.
PROFILES = {
    "core-thorough": "thousands",
    **dict.fromkeys(("units-thorough", "servers-thorough", "stored-thorough"), "thorough"),
}
# Thoroughly once, on the first Python; tests that query the database also on PostgreSQL. On each
# further Python everything with the usual examples, the first time on PostgreSQL.
PROOF: Sequence[Plan] = (
    (
        *(*CHECKS, "cover", "core-thorough", "units-thorough", "servers-thorough"),
        *("oldest", "mutants"),
    ),
    ("tables", "core", ("postgres", "servers"), "stored-thorough"),
    ("tables", "core", ("units", "servers")),
)
COUNTED = (
    *("core", "cover", "units", "servers", "units-again", "servers-again", "smoke", "postgres"),
    *PROFILES,
)
# Steps that need only their environment.
ALONE = (*CHECKS, "core", "cover", "core-thorough")
