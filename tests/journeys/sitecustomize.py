"""Read first by each process of a journey's game: its start costs half as much.

Evennia counts things with `inflect`, which has each of its functions rewritten by `typeguard` while
it is imported: one and a half seconds of processor time in launcher and portal, for a check
of the types that Evennia passes. That check stays on in the tests that run Evennia in their own
process. A server is left as slow as it is: on a reload the portal starts it while the one before
still ends, and one that loads in no time finds its port taken.
"""

from __future__ import annotations

import json
import os
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import TypeVar

Checked = TypeVar("Checked")


def leave_as_it_is(target: Checked) -> Checked:
    """Stand in for `typeguard.typechecked`."""
    return target


if not any(word.endswith("server/server.py") for word in sys.orig_argv):
    unchecking = ModuleType("typeguard")
    vars(unchecking)["typechecked"] = leave_as_it_is
    sys.modules["typeguard"] = unchecking


def take_out_guards(edits: list[tuple[str, str, str]]) -> None:
    """Have this process load files without a guard: the path, what goes, and what comes instead."""
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


# From tests.mutants.
if guards := os.environ.get("GUARDS_OUT"):
    take_out_guards(json.loads(guards))
