"""Collects the facts that are recorded in the audit log during a test."""

import unittest
from typing import Any

from evennia_ai import audit


def record_of(case: unittest.TestCase) -> list[tuple[str, str, dict[str, Any]]]:
    """Return the facts recorded from now until the end of a test: (event, subject, facts)."""
    facts: list[tuple[str, str, dict[str, Any]]] = []
    listener = lambda *fact: facts.append(fact)  # noqa: E731
    audit.LISTENERS.append(listener)
    case.addCleanup(audit.LISTENERS.remove, listener)
    return facts
