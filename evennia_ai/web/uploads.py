"""Files that people uploaded and looked at, until they say yes: a browser sends no file twice.

They are in memory only, one of each account, and few: what is not said yes to in time is sent anew.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from hashlib import sha256
from time import monotonic

MOST = 4
KEPT_SECONDS = 900.0


@dataclass(frozen=True, slots=True)
class Held:
    """A file, and when it was sent."""

    content: bytes
    at: float


_HELD: OrderedDict[int, Held] = OrderedDict()


def hold(account: int, content: bytes) -> str:
    """Keep a file of an account's, in place of the one before.

    Args:
        account: its number.

    Returns:
        What the file is asked for by.
    """
    _HELD.pop(account, None)
    _HELD[account] = Held(content, monotonic())
    while len(_HELD) > MOST:
        _HELD.popitem(last=False)
    return _mark(content)


def held(account: int, mark: str) -> bytes | None:
    """The file of an account's that was given that mark; None: it is not kept any more."""
    _forget_old()
    found = _HELD.get(account)
    return found.content if found is not None and _mark(found.content) == mark else None


def let_go(account: int) -> None:
    """Keep nothing of an account's any more."""
    _HELD.pop(account, None)


def _forget_old() -> None:
    now = monotonic()
    for account in [key for key, each in _HELD.items() if now - each.at > KEPT_SECONDS]:
        del _HELD[account]


def _mark(content: bytes) -> str:
    return sha256(content).hexdigest()
