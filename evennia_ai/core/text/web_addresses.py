"""Validation of service addresses that an owner puts into a setting."""

from __future__ import annotations

from collections.abc import Container
from enum import Enum
from urllib.parse import urlsplit

WEB = ("http", "https")


class UrlFault(Enum):
    """Reasons why an address cannot be used."""

    FORM = "form"
    LOGIN = "login"


def url_fault(
    url: str, schemes: Container[str] = WEB, *, has_socket: bool = False, may_log_in: bool = False
) -> UrlFault | None:
    """The fault of an address, or None if it is sound.

    Args:
        may_log_in: whether it may hold a user name and a password.
        has_socket: whether a local socket, named by `host=` in the query, will do for a host.
    """
    try:
        parts = urlsplit(url)
        has_place = bool(parts.hostname) or (has_socket and "host=" in parts.query)
        # urlsplit parses the port only when it is read, and raises ValueError if it is not a
        # number.
        is_sound = parts.scheme in schemes and has_place and parts.port != 0
    except ValueError:
        return UrlFault.FORM
    if parts.username is not None and not may_log_in:  # logs would show it
        return UrlFault.LOGIN
    return None if is_sound else UrlFault.FORM
