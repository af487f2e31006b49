"""Runs checks and tests, each in an environment made for it; `make test` and others call it.

Usage: python .ci/suite.py STEP...        one Python: the one that runs this
       python .ci/suite.py everywhere     every supported Python of this machine
       python .ci/suite.py ci             the same, and prepares browser and endpoints meanwhile
       python .ci/suite.py proof          everything, most of it thoroughly: runs for hours

Steps are the names in STEPS; `all` stands for those in ALL.
An environment is kept under .venvs/ and renewed only when the pins have changed. Processes that a
step leaves running are reported and ended.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import TextIO

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from evennia_ai import __version__  # noqa: E402
from server.play import brain, environment, processes, pythons  # noqa: E402  found by the line above
from server.play.layout import PlayError  # noqa: E402
from server.play.report import Report  # noqa: E402

CORE = ("tests/core", "tests/resilience", "tests/engine", "tests/test_errors.py")
COVER = tuple(f"--cov=evennia_ai.{room}" for room in ("core", "resilience", "engine", "errors"))
# Tests that start servers and browsers wait part of the time, so more of them than there are
# processors run at once, and other tests beside them.
SERVERS = ("tests/journeys", "tests/browser", "tests/play")
# Tests that do not depend on Python or Evennia, or read only our own files: run once.
ONCE = (
    *CORE,
    "tests/crash",
    "tests/endpoints",
    "tests/fakes",
    "tests/journeys/games",
    *(
        f"tests/journeys/test_{name}.py"
        for name in (
            *("a2a_hooks", "a2a_hostile", "a2a_questions", "assistants_together"),
            *("budget", "crowd", "endpoints", "failures", "faults", "harness", "limits"),
            *("mcp_hostile", "mcp_staff", "misbehaviour", "real_model", "remembering"),
            *("one_ledger", "remote_specialists", "safety", "schemathesis"),
            *("thinking", "two_games"),
            # Other tests cover Evennia's part of these: test_removing adopts and releases,
            # test_restarts reloads, and tests/shell/test_bundles moves an assistant.
            *("adopting", "moving", "reloads"),
        )
    ),
    # A browser with our own pages. Other tests cover that it shows them in each Evennia's frame.
    "tests/browser/test_browser.py",
    *(
        f"tests/browser/test_workbench.py::test_{name}"
        for name in (
            *("everybody_can_use_every_page", "every_page_is_worked_by_the_keyboard"),
            "whatever_is_done_on_a_page_is_done_by_the_keyboard",
        )
    ),
    "tests/browser/test_workbench_live.py",
    # Workers among themselves. Other tests run workers with each Evennia.
    *(
        f"tests/journeys/test_workers.py::test_{name}"
        for name in (
            "any_worker_is_killed_at_every_step_of_a_night",
            "a_worker_is_killed_with_vectors_in_its_hands",
            "a_worker_that_is_asked_to_end_finishes_what_it_is_at",
            "a_stop_takes_back_what_workers_are_at",
            "what_ends_every_worker_is_given_up_in_words",
            "a_worker_without_the_key_says_so",
            "a_worker_outlives_its_connections",
        )
    ),
    # Each runs on SQLite and on PostgreSQL already, in its own processes.
    "tests/audit/test_processes.py",
    *(f"tests/ledger/test_{name}.py" for name in ("games", "names", "outages")),
    "tests/llm",
    "tests/mcp",
    "tests/play",
    "tests/memory",
    # Their processes have their own SQLite file.
    *(f"tests/memory/test_{name}.py" for name in ("recall_benchmark", "store_kills", "week")),
    # Settings, and making vectors of texts.
    *(f"tests/memory/test_store_{name}.py" for name in ("embedding", "settings")),
    "tests/api/test_rights.py",
    "tests/api/test_rights.py::TestNobodyLearnsNames",
    "tests/mcp_server",
    "tests/shell/test_b15_model_check.py",
    "tests/shell/test_b15_model_check.py::TestWalks::test_hole_d30_a_seed_walks_the_same_walks",
    "tests/shell/test_b15_till.py",
    "tests/shell/test_command_rights.py",
    "tests/shell/test_command_rights.py::TestRows",
    "tests/shell/test_misbehaviour.py",
    "tests/shell/test_soak.py",
    "tests/shell/test_telemetry.py",
    # Rules of the plugin: when it answers, where a turn ends, who is asked and who pays, the
    # content of a prompt, nights. They touch nothing of Evennia and of the database that the
    # remaining tests in tests/shell do not touch, too.
    *(
        f"tests/shell/test_{name}.py"
        for name in (
            *("answerers", "cards", "changed_limits", "confirmation", "cooling", "dry_runs"),
            *(
                "episodes",
                "every_limit",
                "facts_awake",
                "failures",
                "fence",
                "flow",
                "goal_times",
                "goals",
                "grounding",
            ),
            *("guidelines", "hearing_properties", "hole_borrowing", "hole_caps", "hop_limit"),
            *("idle", "inner_contexts", "interventions_people", "kill_all", "loops", "manners"),
            *("memory_leaks", "message_size", "money", "money_chains", "money_stops"),
            *("needed_tools", "overheard", "own_turns", "parsers", "private_words", "profiles"),
            *("prompts", "queue_walks", "reflection_awake", "report_summary", "resting"),
            *("roleplay_properties", "set_aside", "sleep_nights", "sleep_superseding"),
            *("sleep_without", "stale_answers", "sub_agents", "sub_agents_brief"),
            *("sub_agents_limits", "testing", "tools_useful", "trace", "turn_limits", "turns"),
            "why",
        )
    ),
    # Their queries are also those of other pages and operations.
    *(
        f"tests/web/test_{name}.py"
        for name in (
            *("bench_page", "charts", "health_page", "lore_page", "make_page", "money_page"),
            *("pictures", "prompt_page", "settings_page"),
        )
    ),
    "tests/web/test_memory_page.py::MemoryPageTest::test_hostile_texts_stay_texts",
    "tests/web/test_memory_page.py::NightsTest::test_what_a_night_made_of_what",
    "tests/test_docs.py",
    "tests/test_feature_requests.py",
    "tests/test_floors.py",
    "tests/test_guards.py",
    "tests/test_owasp.py",
    "tests/test_safety_cases.py",
)
# Tests of ONCE that query the database: they run again, as the next Evennia has PostgreSQL.
STORED = (
    "tests/crash",
    "tests/memory",
    "tests/api/test_rights.py",
    *(f"tests/shell/test_{name}.py" for name in ("b15_model_check", "b15_till", "command_rights")),
)
# Left to `make proof`; CONTRIBUTING.md says why the rest is enough for each run.
RARE = (
    "tests/memory/test_store_kills.py::test_a_game_of_before_moves_over",
    "tests/browser/test_webclient.py::test_hostile_text_is_text_in_every_way",
    "tests/journeys/test_soak_games.py",
)
# The whole path of a message and of an act, on a Python whose Evennia is already fully tested.
# Several processes on one ledger depend on the database, and ran on both databases before.
SMOKE = (
    *CORE,
    "tests/test_package.py",
    "tests/api/test_schema.py",
    "tests/audit/test_recorder.py",
    "tests/prompts",
    *(
        f"tests/shell/test_{name}.py"
        for name in (
            *("talking", "hearing", "inbox", "kill", "lockout", "ledger", "operations"),
            *("recall", "sub_agents", "tools", "turn_limits", "why"),
        )
    ),
)
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
# Steps in brackets run at the same time: while one waits for servers, the other has the processors.
Plan = Sequence[str | tuple[str, ...]]
ALL: Plan = (*CHECKS, "cover", ("units", "servers"))
# On a further Python: everything again if it brings another Evennia, else the smoke test.
NEXT_EVENNIA: Plan = ("tables", ("units-again", "servers-again"))
SAME_EVENNIA = ("tables", "smoke")
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
# Every process of a run inherits this variable; leftovers are found by it.
RUN_MARK = "EVENNIA_AI_SUITE_RUN"
# In this order, since the first installs npm, which the second needs.
OTHERS = "bash .ci/browser.sh && bash .ci/endpoints.sh"


@dataclass
class Tally:
    """Numbers of tests that passed, failed and were skipped, and of failed checks."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    broken: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Add another tally."""
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.broken += other.broken

    @property
    def is_good(self) -> bool:
        """True if nothing failed."""
        return not self.failed and not self.broken

    def __str__(self) -> str:
        failed = self.failed + len(self.broken)
        return f"{self.passed} passed, {failed} failed, {self.skipped} skipped"


@dataclass
class Background:
    """A program that runs in the background, until a step needs its result.

    It carries the mark of the run, so it is ended with the run in any case.
    """

    name: str
    log: Path
    process: subprocess.Popen[bytes]

    @classmethod
    def begin(cls, name: str, *command: str) -> Background:
        """Start a program; its output is appended to a log under .venvs/."""
        log = ROOT / ".venvs" / f"{name}.log"
        log.parent.mkdir(exist_ok=True)
        with log.open("ab") as record:
            process = subprocess.Popen(
                command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=record, stderr=subprocess.STDOUT
            )
        return cls(name, log, process)

    def finish(self) -> bool:
        """Wait for its end and print a line about it; return False if it failed."""
        asked = time.monotonic()
        code = self.process.wait()
        ended = "failed" if code else "is made"
        waited = time.monotonic() - asked
        print(f"-- {self.name} {ended}; waited {waited:.0f} s for it: {self.log}", flush=True)
        return code == 0


def main(arguments: list[str]) -> int:
    """Run what was asked for and print the sum; return the exit code."""
    signal.signal(signal.SIGTERM, _interrupt)
    if arguments[:1] == ["environments"]:
        return make_environments(arguments[1:])
    os.environ[RUN_MARK] = f"{os.getpid()}"
    try:
        if arguments == ["everywhere"]:
            return run_everywhere(USUAL)
        if arguments == ["ci"]:
            return run_everywhere(USUAL, [Background.begin("others", "bash", "-c", OTHERS)])
        if arguments == ["proof"]:
            return run_everywhere(PROOF)
        return run_here(list(ALL) if arguments == ["all"] else arguments)
    except PlayError as error:
        print(f"\n{error}", file=sys.stderr)
        return 1
    finally:
        sweep()


def run_here(steps: Plan) -> int:
    """Run steps on the Python that runs this."""
    names = {name for step in steps for name in together(step)}
    unknown = names - {*STEPS}
    if unknown or not steps:
        print(f"Say one or more of: all, everywhere, {', '.join(STEPS)}.", file=sys.stderr)
        return 2
    version = ".".join(str(part) for part in sys.version_info[:2])
    if not pythons.is_supported(sys.version_info):
        raise PlayError(pythons.refusal(sys.version_info, sys.executable))
    tally = run_steps(spec_of(version, environment.base_interpreter()), steps)
    return close({version: tally}) if set(COUNTED) & names else int(not tally.is_good)


def together(step: str | tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of steps that run at the same time."""
    return (step,) if isinstance(step, str) else step


def steps_of(version: str, evennias: set[str], plan: Sequence[Plan]) -> Plan:
    """Return the steps of a plan for one more Python; adds its Evennia to those seen."""
    first, next_evennia, same_evennia = plan
    evennia = environment.pinned_evennia(ROOT, version)
    steps = same_evennia if evennia in evennias else next_evennia if evennias else first
    evennias.add(evennia)
    return steps


def make_environments(versions: Sequence[str]) -> int:
    """Make the environments of Pythons, one after another, while other steps run."""
    found = pythons.find_all()
    try:
        for version in versions:
            environment.make(spec_of(version, found[version]), Report())
    except PlayError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def run_everywhere(plan: Sequence[Plan], background: Sequence[Background] = ()) -> int:
    """Run a plan's steps on each supported Python there is.

    Args:
        plan: steps on the first Python, on the first with another Evennia, and on any further one.
        background: programs that run already; all but the first steps need their results.
    """
    found = pythons.find_all()
    absent = [name for name in pythons.supported_names() if name not in found]
    if absent:
        print(f"NOT TESTED, because this machine has no such Python: {', '.join(absent)}")
    if not found:
        raise PlayError(f"Found no Python {' or '.join(absent)} on PATH or under pyenv.")
    wishes = {name: spec_of(name, path) for name, path in found.items()}
    evennias: set[str] = set()
    tallies: dict[str, Tally] = {}
    first, *later = wishes
    environment.make(wishes[first], Report())
    command = (sys.executable, __file__, "environments", *later)
    making = [Background.begin("environments", *command)] if later else []
    needed = list(background)
    for name, spec in wishes.items():
        if making and name != first:
            making.pop().finish()  # a failure is tried again and reported below
        tallies[name] = run_steps(spec, steps_of(name, evennias, plan), needed)
    return close(tallies)


def close(tallies: dict[str, Tally]) -> int:
    """Print the result of each Python, and last the sum of all."""
    sweep()
    total = Tally()
    print()
    for version, tally in tallies.items():
        total.add(tally)
        broken = f"   broken: {', '.join(tally.broken)}" if tally.broken else ""
        print(f"Python {version}: {tally}{broken}")
    print(f"total: {total}", flush=True)
    return int(not total.is_good)


def spec_of(version: str, interpreter: str) -> environment.EnvironmentSpec:
    """Return the environment in which a Python's steps run."""
    folder = ROOT / ".venvs" / version
    folder.parent.mkdir(exist_ok=True)
    extras = (*(("local",) if brain.has_a_build() else ()), "tokens", "test", "bench", "dev")
    log = folder.with_suffix(folder.suffix + ".log")
    # Tests import a third of what is installed, so compiling everything would take longer.
    return environment.EnvironmentSpec(
        ROOT, folder, interpreter, version, extras, log, is_compiled=False
    )


def run_steps(
    spec: environment.EnvironmentSpec, steps: Plan, needed: list[Background] | None = None
) -> Tally:
    """Make a Python's environment and run steps in it; a failed step does not stop the others.

    Args:
        spec: the environment.
        steps: names in STEPS; those of a tuple run at the same time.
        needed: background programs; waited for, and taken out of the list, before the first
            step that is not in ALONE.
    """
    evennia = environment.pinned_evennia(ROOT, spec.version)
    print(f"\n== Python {spec.version}, Evennia {evennia}", flush=True)
    environment.make(spec, Report())
    tally = Tally()
    for step in steps:
        first, *others = together(step)
        while needed and first not in ALONE:
            one = needed.pop()
            tally.broken += [] if one.finish() else [one.name]
        # If the run is interrupted, `sweep` ends the processes that these threads wait for.
        threads = ThreadPoolExecutor()
        going = [threads.submit(run_in_background, other, spec) for other in others]
        tally.add(run_step(first, spec))
        for found, told in [other.result() for other in going]:
            print(told.read_text("utf-8", "replace"), end="", flush=True)
            tally.add(found)
    return tally


def run_in_background(step: str, spec: environment.EnvironmentSpec) -> tuple[Tally, Path]:
    """Run one step while another is shown; returns the file with its output, too."""
    log = spec.folder.with_name(f"{spec.version}-{step}.log")
    print(f"-- {step} runs in the background: {log}", flush=True)
    with log.open("w", encoding="utf-8") as told:
        return run_step(step, spec, told), log


def run_step(step: str, spec: environment.EnvironmentSpec, told: TextIO | None = None) -> Tally:
    """Run one step in an environment.

    Args:
        told: file for its output; None: it is shown.
    """
    tally = Tally()
    results = spec.folder.with_name(f"{spec.version}-{step}.xml")
    results.unlink(missing_ok=True)
    env = {**os.environ, "PATH": f"{spec.folder / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    # Otherwise each of some thousand processes would compile the package and its libraries again.
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    if step in PROFILES:
        env["EVENNIA_AI_TEST_PROFILE"] = PROFILES[step]
    if step == "bench":
        env["PYTHONPATH"] = str(ROOT)
    for program, *options in STEPS[step]:
        if step in COUNTED:
            options.append(f"--junitxml={results}")
        print(f"-- {step}: {program} {' '.join(options)}", file=told, flush=True)
        command, began = [str(spec.folder / "bin" / program), *options], time.monotonic()
        code = subprocess.call(
            command,
            cwd=ROOT,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=told,
            stderr=None if told is None else subprocess.STDOUT,
        )
        print(f"-- {step} took {time.monotonic() - began:.0f} s", file=told, flush=True)
        if step in COUNTED:
            tally.add(count(results))
        if code != 0 and not tally.failed:
            tally.broken.append(f"{step} ({program})")
    return tally


def count(results: Path) -> Tally:
    """Read the numbers of passed, failed and skipped tests from a JUnit file."""
    if not results.exists():
        return Tally()
    tally = Tally()
    for case in ElementTree.parse(results).iter("testcase"):
        outcomes = {child.tag for child in case}
        tally.failed += bool(outcomes & {"failure", "error"})
        tally.skipped += "skipped" in outcomes
        tally.passed += not outcomes & {"failure", "error", "skipped"}
    return tally


def sweep() -> None:
    """End all processes that this run started and left behind, and report them."""
    mark = f"{RUN_MARK}={os.environ[RUN_MARK]}".encode()
    left = []
    for path in processes.PROC.glob("[0-9]*/environ"):
        try:
            is_ours = mark in path.read_bytes().split(b"\0")
            words = path.with_name("cmdline").read_bytes().decode("utf-8", "replace").split("\0")
        except OSError:
            continue
        pid = int(path.parent.name)
        if is_ours and pid not in (os.getpid(), os.getppid()):
            left.append(pid)
            print(f"left running, and ended: process {pid}: {' '.join(words)[:120]}")
    processes.end(left, grace_seconds=5.0)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
