"""The package as other games see it."""

from __future__ import annotations

import pytest

import evennia_ai
from evennia_ai.errors import CircuitOpenError


def test_public_names_are_imported_when_used() -> None:
    """A public name is there without naming its module."""
    assert CircuitOpenError is evennia_ai.CircuitOpenError


def test_public_names_are_listed() -> None:
    """What is public can be found by listing the package."""
    assert sorted(evennia_ai.__all__) == evennia_ai.__all__
    assert set(evennia_ai.__all__) <= set(dir(evennia_ai))


def test_unknown_names_are_refused() -> None:
    """A name that is not there is an ordinary AttributeError."""
    with pytest.raises(AttributeError, match="module 'evennia_ai' has no attribute 'Robot'"):
        _ = evennia_ai.Robot
