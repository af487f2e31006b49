"""Addresses of services that an owner writes into a setting: one judge for all of them."""

from __future__ import annotations

from collections.abc import Container
from enum import Enum
from urllib.parse import urlsplit

WEB = ("http", "https")


class UrlFault(Enum):
    """A reason why an address cannot be used."""

    FORM = "form"
    LOGIN = "login"


def url_fault(
    url: str, schemes: Container[str] = WEB, *, has_socket: bool = False, may_log_in: bool = False
) -> UrlFault | None:
    """The fault of an address, None where it is sound.

    Args:
        schemes: those that are possible.
        may_log_in: a name and a password may stand in it.
        has_socket: a socket of this machine, named by `host=` after the question mark, is a place.
    """
    try:
        parts = urlsplit(url)
        has_place = bool(parts.hostname) or (has_socket and "host=" in parts.query)
        # urlsplit reads the port when it is asked for, and raises where it is none.
        is_sound = parts.scheme in schemes and has_place and parts.port != 0
    except ValueError:
        return UrlFault.FORM
    if parts.username is not None and not may_log_in:  # logs would show it
        return UrlFault.LOGIN
    return None if is_sound else UrlFault.FORM
