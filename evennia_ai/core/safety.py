"""When errors in a row become a reason to stop."""

from __future__ import annotations


def is_error_limit_reached(consecutive_errors: int, max_consecutive_errors: int) -> bool:
    """Whether this many failures in a row call for an emergency stop."""
    return consecutive_errors >= max(1, max_consecutive_errors)
