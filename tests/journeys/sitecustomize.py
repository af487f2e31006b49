"""Read first by each process of a journey's game: its start costs half as much.

Evennia counts things with `inflect`, which has each of its functions rewritten by `typeguard` while
it is imported: one and a half seconds of processor time in launcher and portal, for a check
of the types that Evennia passes. That check stays on in the tests that run Evennia in their own
process. A server is left as slow as it is: on a reload the portal starts it while the one before
still ends, and one that loads in no time finds its port taken.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TypeVar

Checked = TypeVar("Checked")


def leave_as_it_is(target: Checked) -> Checked:
    """Stand in for `typeguard.typechecked`."""
    return target


if not any(word.endswith("server/server.py") for word in sys.orig_argv):
    unchecking = ModuleType("typeguard")
    vars(unchecking)["typechecked"] = leave_as_it_is
    sys.modules["typeguard"] = unchecking
