"""Brings in Evennia's English grammar, `inflect`, without the checks that it builds into itself.

It has typeguard parse and compile its whole source once for each of 23 functions, at every import:
three quarters of what it takes a process of the game to load Evennia. The checks would refuse
arguments of a wrong type, which Evennia does not pass. Nothing else that uses typeguard is changed.
"""

from __future__ import annotations

from typing import TypeVar

import typeguard

Checked = TypeVar("Checked")


def _unchecked(target: Checked) -> Checked:
    return target


_instrumented = typeguard.typechecked
typeguard.typechecked = _unchecked  # type: ignore[assignment]
try:
    import inflect  # noqa: F401
finally:
    typeguard.typechecked = _instrumented
