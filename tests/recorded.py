"""The facts that are put on record while a test runs."""

from __future__ import annotations

import unittest
from typing import Any

from evennia_ai import audit


def record_of(case: unittest.TestCase) -> list[tuple[str, str, dict[str, Any]]]:
    """What is put on record from now on, to the end of a test: (event, subject, facts)."""
    told: list[tuple[str, str, dict[str, Any]]] = []
    listener = lambda *fact: told.append(fact)  # noqa: E731
    audit.LISTENERS.append(listener)
    case.addCleanup(audit.LISTENERS.remove, listener)
    return told
