"""Read first by each process of a journey's game: its start costs half as much.

Evennia counts things with `inflect`, which has each of its functions rewritten by `typeguard` while
it is imported: one and a half seconds of processor time in launcher, portal and server, for a check
of the types that Evennia passes. That check stays on in the tests that run Evennia in their own
process, and in `make play`.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TypeVar

Checked = TypeVar("Checked")


def leave_as_it_is(target: Checked) -> Checked:
    """Stand in for `typeguard.typechecked`."""
    return target


unchecking = ModuleType("typeguard")
vars(unchecking)["typechecked"] = leave_as_it_is
sys.modules["typeguard"] = unchecking
