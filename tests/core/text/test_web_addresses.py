"""Validation of service addresses."""

import pytest

from evennia_ai.core.text.web_addresses import UrlFault, url_fault


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://example.org/v1", None),
        ("http://127.0.0.1:11434/v1", None),
        ("", UrlFault.FORM),
        ("example.org", UrlFault.FORM),
        ("ftp://example.org", UrlFault.FORM),
        ("http://example.org:0", UrlFault.FORM),
        ("http://example.org:many", UrlFault.FORM),
        ("http://[::1", UrlFault.FORM),
        ("https://tom:secret@example.org", UrlFault.LOGIN),
    ],
)
def test_an_address_of_the_web(url: str, expected: UrlFault | None) -> None:
    assert expected is url_fault(url)


def test_an_address_of_a_database() -> None:
    """Only by request may an address have a login, or a socket instead of a host."""
    url = "postgresql://game:secret@/game?host=/run/postgresql"
    assert UrlFault.LOGIN is url_fault(url, ("postgresql",), has_socket=True)
    assert UrlFault.FORM is url_fault(url, ("postgresql",), may_log_in=True)
    assert url_fault(url, ("postgresql",), has_socket=True, may_log_in=True) is None
