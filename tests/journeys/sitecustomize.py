"""Imported first by each process of a journey's game: its start costs half as much.

Evennia counts things with `inflect`, whose functions are all rewritten by `typeguard` on import:
one and a half seconds of processor time in launcher, portal and server, to check the types that
Evennia passes. That check stays on in the tests that run Evennia in their own process. On a reload
the portal starts a server while the one before still ends: the new one waits here, because after so
quick an import it would find its port taken.
"""

import json
import os
import sys
import time
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import TypeVar

Checked = TypeVar("Checked")
PIDFILE = "--pidfile="
END_SECONDS, LOOK_SECONDS = 20.0, 0.01


def leave_as_it_is(target: Checked) -> Checked:
    """Stand in for `typeguard.typechecked`."""
    return target


def is_running(pidfile: Path) -> bool:
    """True while the process that a pid file names is there."""
    try:
        os.kill(int(pidfile.read_text()), 0)
    except (OSError, ValueError):
        return False
    return True


def await_end_of_one_before() -> None:
    """Wait until the previous server has ended; if it does not, twistd reports it."""
    ends = time.monotonic() + END_SECONDS
    for word in sys.orig_argv:
        if word.startswith(PIDFILE):
            while is_running(Path(word.removeprefix(PIDFILE))) and time.monotonic() < ends:
                time.sleep(LOOK_SECONDS)


def take_out_guards(edits: list[tuple[str, str, str]]) -> None:
    """Have this process import files without a guard: path, old text, and new text."""
    usual = SourceFileLoader.get_code

    def get_code(self: SourceFileLoader, fullname: str) -> CodeType | None:
        those = [edit for edit in edits if self.path.endswith(f"/{edit[0]}")]
        if not those:
            return usual(self, fullname)
        source = Path(self.path).read_text("utf-8")
        for _, snippet, replacement in those:
            source = source.replace(snippet, replacement)
        return compile(source, self.path, "exec", dont_inherit=True)

    SourceFileLoader.get_code = get_code  # type: ignore[method-assign]


def begin() -> None:
    """Wait for the previous server; take out guards where `tests.mutants` says so."""
    if any(word.endswith("server/server.py") for word in sys.orig_argv):
        await_end_of_one_before()
    if guards := os.environ.get("GUARDS_OUT"):
        take_out_guards(json.loads(guards))


unchecking = ModuleType("typeguard")
vars(unchecking)["typechecked"] = leave_as_it_is
sys.modules["typeguard"] = unchecking
begin()
