"""Removes each guard once and runs its named test, which has to fail.

Usage: python -m tests.mutants [WORD...] [--lanes N]      only guards with one of these words

No file is changed. One process loads the game and forks: each child gets the code of the guard's
functions without the guard, and runs the one test; a game that the test starts leaves out the guard
when it loads (`journeys/sitecustomize.py`). First every named test has to pass with all guards in
place. The exit code is 1 if any test passes without its guard; each such test is named.
"""

import argparse
import ast
import gc
import importlib
import json
import os
import re
import signal
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import CodeType, FunctionType
from typing import NamedTuple

from tests.guards import GUARDS, Edit, Guard
from tests.named_tests import ROOT, node_id

PASSED, FAILED = 0, 1  # pytest's codes: all passed; tests ran, and some failed
MOST_SECONDS = 900
SUMMARY = re.compile(r"\b\d+ (failed|passed|error|deselected)")
# These warnings do not matter: pytest rewrites only assertions of tests.
LOADED = "ignore::pytest.PytestAssertRewriteWarning"
OPTIONS = ("-q", "--tb=short", "-W", LOADED, "-p", "no:cacheprovider", "-p", "no:xdist")


class Finding(NamedTuple):
    """Result of running a test without its guard.

    Attributes:
        code: pytest's exit code.
        told: its last line.
    """

    guard: Guard
    code: int
    told: str
    seconds: float

    @property
    def is_noticed(self) -> bool:
        """True if the test failed, as it should."""
        return self.code == FAILED and " failed" in f" {self.told}"


# ---- taking a guard out ------------------------------------------------------------------------


def without(edit: Edit) -> str:
    """Return the source of a file without a guard.

    Raises:
        ValueError: if the snippet does not occur exactly once, or if more than the bodies of
            functions would change.
    """
    source = (ROOT / edit.path).read_text(encoding="utf-8")
    if (times := source.count(edit.snippet)) != 1:
        raise ValueError(f"{edit.path} has it {times} times: {edit.snippet!r}")
    left = source.replace(edit.snippet, edit.replacement)
    if _frame(source) != _frame(left):
        raise ValueError(f"{edit.path}: it is not inside a function: {edit.snippet!r}")
    return left


def _frame(source: str) -> str:
    """Return a module without the bodies of its functions."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            node.body = []
    return ast.dump(tree)


def take_out(edits: Iterable[Edit]) -> None:
    """Replace the code of this process's functions by the code without a guard.

    Raises:
        ValueError: see `without`.
    """
    sources: dict[str, str] = {}
    for edit in edits:
        before = sources.get(edit.path)
        left = without(edit)
        if before is not None:
            left = before.replace(edit.snippet, edit.replacement)
        sources[edit.path] = left
    for path, source in sources.items():
        module = path.removesuffix(".py").removesuffix("/__init__")
        importlib.import_module(module.replace("/", "."))
        file = str(ROOT / path)
        new = _codes(compile(source, file, "exec", dont_inherit=True))
        for name, functions in _functions_of(file).items():
            for function, code in zip(functions, new[name], strict=True):
                function.__code__ = code


def _codes(module: CodeType) -> dict[str, list[CodeType]]:
    """Return the code of each function of a module and its classes, by qualified name."""
    codes: dict[str, list[CodeType]] = defaultdict(list)

    def walk(code: CodeType) -> None:
        for inner in code.co_consts:
            if isinstance(inner, CodeType):
                codes[inner.co_qualname].append(inner)
                walk(inner)

    walk(module)
    return codes


def _functions_of(file: str) -> dict[str, list[FunctionType]]:
    """Return the live functions of a file, except those made by a call of another one."""
    by_name: dict[str, list[FunctionType]] = defaultdict(list)
    for each in gc.get_objects():
        # Reading more than the type might evaluate a lazy object.
        if type(each) is FunctionType and each.__code__.co_filename == file:
            name = each.__code__.co_qualname
            if "<" not in name:  # such as a function within a function, or a lambda
                by_name[name].append(each)
    for functions in by_name.values():
        functions.sort(key=lambda function: function.__code__.co_firstlineno)
    return by_name


# ---- running -----------------------------------------------------------------------------------


def load() -> None:
    """Import everything that tests of the game need, so that no child has to."""
    import pytest  # noqa: F401

    import tests.evennia_setup

    with tests.evennia_setup.fresh_database():
        from evennia_ai.agent import delegating  # noqa: F401
        from tests.game import support  # noqa: F401


class Child(NamedTuple):
    """A process that runs tests.

    Attributes:
        output: the file of its output.
    """

    guard: Guard | None
    pid: int
    output: Path
    began: float


def begin(guard: Guard | None, nodes: Sequence[str], folder: Path) -> Child:
    """Run tests in a child without a guard."""
    output = folder / f"{time.monotonic_ns()}"
    pid = os.fork()
    if pid:
        return Child(guard, pid, output, time.monotonic())
    code = 99
    try:
        os.setsid()
        file = os.open(output, os.O_WRONLY | os.O_CREAT)
        for number in (1, 2):
            os.dup2(file, number)
        sys.stdout = sys.stderr = os.fdopen(1, "w", closefd=False)
        if guard is not None:
            signal.alarm(MOST_SECONDS)
            gc.unfreeze()  # frozen objects are invisible to gc.get_objects
            take_out(guard.edits)
            os.environ["GUARDS_OUT"] = json.dumps(guard.edits)
        import pytest

        code = int(pytest.main([*OPTIONS, *nodes]))
    except BaseException as error:
        print(repr(error))
    finally:
        sys.stdout.flush()
        os._exit(code)
    raise AssertionError("a child ends in the lines above")


def end(child: Child, status: int) -> Finding:
    """Return the result of a child that has ended."""
    code = os.waitstatus_to_exitcode(status)
    text = child.output.read_text("utf-8", "replace") if child.output.exists() else ""
    lines = [line for line in text.splitlines() if SUMMARY.search(line)]
    summary = lines[-1].strip("= ") if lines else text[-300:].strip()
    if code == -signal.SIGALRM:
        code, summary = FAILED, f"1 failed: it went on for more than {MOST_SECONDS} s"
    guard = child.guard or Guard("", (), "")
    return Finding(guard, code, summary, time.monotonic() - child.began)


def try_all(
    guards: Iterable[Guard], lanes: int, folder: Path, note: Callable[[Finding], None]
) -> Iterator[Finding]:
    """Remove each guard once, with that many children at the same time."""
    running: dict[int, Child] = {}
    left = list(guards)[::-1]
    while left or running:
        while left and len(running) < lanes:
            guard = left.pop()
            child = begin(guard, [node_id(guard.test)], folder)
            running[child.pid] = child
        pid, status = os.wait()
        finding = end(running.pop(pid), status)
        note(finding)
        yield finding


def _note(found: Finding) -> None:
    word = "noticed " if found.is_noticed else "SURVIVED"
    print(f"{word} {found.seconds:5.1f} s  {found.guard.text}  [{found.told}]", flush=True)


def main(arguments: Sequence[str]) -> int:
    """Try guards, and print those that no test noticed."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants")
    parser.add_argument("words", nargs="*", help="only guards whose texts or files have one")
    parser.add_argument("--lanes", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args(arguments)
    chosen = [g for g in GUARDS if not given.words or any(w in str(g) for w in given.words)]
    began = time.monotonic()
    os.chdir(ROOT)
    os.environ["EVENNIA_AI_TEST_PROFILE"] = "quick"
    load()
    with tempfile.TemporaryDirectory(prefix="evennia-ai-mutants-") as room:
        nodes = sorted({node_id(guard.test) for guard in chosen})
        child = begin(None, nodes, Path(room))
        whole = end(child, os.waitpid(child.pid, 0)[1])
        print(f"with all guards in place: {whole.told} ({whole.seconds:.0f} s)", flush=True)
        if whole.code != PASSED:
            print(child.output.read_text("utf-8", "replace"))
            return 1
        results = list(try_all(chosen, given.lanes, Path(room), _note))
    survivors = [each for each in results if not each.is_noticed]
    minutes = (time.monotonic() - began) / 60
    print(
        f"{len(results) - len(survivors)} of {len(results)} were noticed, in {minutes:.1f} minutes"
    )
    for each in survivors:
        print(f"no test missed it: {each.guard.text} ({each.guard.test}: {each.told})")
    return int(bool(survivors))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
