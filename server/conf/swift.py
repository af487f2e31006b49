"""Brings in Evennia's English grammar, `inflect`, without the checks that it builds into itself.

It has typeguard parse and compile its whole source once for each of 23 functions, at every import:
three quarters of what it takes a process of the game to load Evennia. The checks would refuse
arguments of a wrong type, which Evennia does not pass. Nothing else that uses typeguard is changed.

The game's server is not hurried: on a reload the portal starts it while the one before still ends,
and one that loads in no time finds its port taken.
"""

from __future__ import annotations

import sys
from typing import TypeVar

import typeguard

Checked = TypeVar("Checked")


def _unchecked(target: Checked) -> Checked:
    return target


def _is_server() -> bool:
    """True in the process that twistd runs the game's server in."""
    return any(word.endswith("server/server.py") for word in sys.orig_argv)


if not _is_server():
    _instrumented = typeguard.typechecked
    typeguard.typechecked = _unchecked  # type: ignore[assignment]
    try:
        import inflect  # noqa: F401
    finally:
        typeguard.typechecked = _instrumented
