"""Runs checks and tests, each in an environment made for it; `make test` and others call it.

Usage: python .ci/suite.py STEP...        one Python: the one that runs this
       python .ci/suite.py everywhere     every supported Python of this machine
       python .ci/suite.py ci             the same, and prepares browser and endpoints meanwhile
       python .ci/suite.py proof          everything, most of it thoroughly: runs for hours

Steps are the names in STEPS of `steps.py`; `all` stands for those in ALL.
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
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import TextIO

from steps import ALL, ALONE, COUNTED, PROFILES, PROOF, ROOT, STEPS, USUAL, Plan

from server.play import brain, environment, processes, pythons  # found by way of `steps`
from server.play.layout import PlayError
from server.play.report import Report

# Every process of a run inherits this variable; leftovers are found by it.
RUN_MARK = "EVENNIA_AI_SUITE_RUN"
# In this order, since the first installs npm, which the second needs.
OTHERS = "bash .ci/browser.sh && bash .ci/endpoints.sh"


@dataclass
class Tally:
    """Numbers of tests that passed, failed and were skipped, and of failed checks.

    Attributes:
        broken: names of failed checks.
        failures: a line for each failed test: its name, and the first line of its error.
    """

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    broken: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Add another tally."""
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.broken += other.broken
        self.failures += other.failures

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
    found = pythons.find_fastest()
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
    found = pythons.find_fastest()
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
        for failure in tally.failures:
            print(f"Python {version}: {failure}")
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
        code, processor = run_command(command, env, told)
        took = f"{time.monotonic() - began:.0f} s, {processor:.0f} s of processor time"
        print(f"-- {step} took {took}", file=told, flush=True)
        if step in COUNTED:
            tally.add(count(results))
        if code != 0 and not tally.failed:
            tally.broken.append(f"{step} ({program})")
    return tally


def run_command(
    command: Sequence[str], env: Mapping[str, str], told: TextIO | None
) -> tuple[int, float]:
    """Run a command in the checkout.

    Args:
        told: file for its output and errors; None: they are shown.

    Returns:
        Its exit code, and the seconds of processor time that it and the processes it waited for
        took; daemons are not included.
    """
    errors = None if told is None else subprocess.STDOUT
    process = subprocess.Popen(
        command, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=told, stderr=errors
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, usage.ru_utime + usage.ru_stime


def count(results: Path) -> Tally:
    """Read the numbers of passed, failed and skipped tests from a JUnit file."""
    if not results.exists():
        return Tally()
    tally = Tally()
    for case in ElementTree.parse(results).iter("testcase"):
        outcomes = {child.tag: child.get("message", "") for child in case}
        failures = [outcomes[tag] for tag in ("failure", "error") if tag in outcomes]
        for message in failures[:1]:
            line = message.strip().partition("\n")[0][:300]
            tally.failures.append(f"{case.get('classname')}::{case.get('name')}: {line}")
        tally.failed += bool(failures)
        tally.skipped += "skipped" in outcomes
        tally.passed += not outcomes.keys() & {"failure", "error", "skipped"}
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
