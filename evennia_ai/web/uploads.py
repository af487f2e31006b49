"""Uploaded files between preview and confirmation: a browser does not send a file twice.

They are held in memory only: one per account, a few in all, for a quarter of an hour. After that
the file has to be uploaded again.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from hashlib import sha256
from time import monotonic

MOST = 4
KEPT_SECONDS = 900.0


@dataclass(frozen=True, slots=True)
class Upload:
    """A file, and when it was uploaded (monotonic clock)."""

    content: bytes
    at: float


_UPLOADS: OrderedDict[int, Upload] = OrderedDict()


def keep_upload(account: int, content: bytes) -> str:
    """Keep a file for an account, in place of its previous one.

    Args:
        account: primary key of the account.

    Returns:
        The mark by which the file is found again.
    """
    _UPLOADS.pop(account, None)
    _UPLOADS[account] = Upload(content, monotonic())
    while len(_UPLOADS) > MOST:
        _UPLOADS.popitem(last=False)
    return _mark(content)


def find_upload(account: int, mark: str) -> bytes | None:
    """Find the account's file by its mark; None if it is not held any more."""
    _forget_old()
    found = _UPLOADS.get(account)
    return found.content if found is not None and _mark(found.content) == mark else None


def drop_upload(account: int) -> None:
    """Forget the account's file."""
    _UPLOADS.pop(account, None)


def _forget_old() -> None:
    now = monotonic()
    for account in [key for key, each in _UPLOADS.items() if now - each.at > KEPT_SECONDS]:
        del _UPLOADS[account]


def _mark(content: bytes) -> str:
    # Of the contents: a form that is still open must not confirm a file that was uploaded later.
    return sha256(content).hexdigest()
