"""Proxies named by the environment."""

from collections.abc import Mapping

import pytest
from twisted.internet import reactor
from yarl import URL

from evennia_ai.errors import ConfigurationError
from evennia_ai.llm.transport import OpenAITransport, proxy_for


def only(monkeypatch: pytest.MonkeyPatch, environ: Mapping[str, str]) -> None:
    """Set these proxy variables, and unset all others."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize(
    ("expected", "base_url", "environ"),
    [
        (None, "http://model.test/v1", {}),
        ("http://proxy.test:3128", "http://model.test/v1", {"http_proxy": "proxy.test:3128"}),
        ("http://proxy.test", "https://model.test/v1", {"https_proxy": "http://proxy.test"}),
        ("http://proxy.test", "https://model.test/v1", {"all_proxy": "http://proxy.test"}),
        (None, "https://model.test/v1", {"http_proxy": "http://proxy.test"}),
        (None, "http://127.0.0.1:8080/v1", {"http_proxy": "http://proxy.test"}),
        (None, "http://[::1]:8080/v1", {"http_proxy": "http://proxy.test"}),
        (None, "http://localhost/v1", {"http_proxy": "http://proxy.test"}),
        (None, "http://model.test/v1", {"http_proxy": "http://proxy.test", "no_proxy": ".test"}),
    ],
)
def test_the_proxy_is_the_one_that_the_environment_names(
    monkeypatch: pytest.MonkeyPatch, expected: str | None, base_url: str, environ: dict[str, str]
) -> None:
    """Loopback addresses are always asked without a proxy."""
    only(monkeypatch, environ)
    proxy, headers = proxy_for(base_url)
    assert (expected and URL(expected), {}) == (proxy, headers)


@pytest.mark.parametrize(
    ("expected", "proxy"),
    [
        ("of the kind 'socks5h'", "socks5h://me:secret@proxy.test:1080"),
        ("of the kind 'ftp'", "ftp://me:secret@proxy.test"),
        ("cannot be read", "http://me:secret@proxy.test:port"),
        ("cannot be read", "http://me:secret@[proxy.test"),
        ("cannot be read", "http://"),
        ("cannot be read", "http://me%3Asecret:secret@proxy.test"),
    ],
)
def test_a_proxy_that_cannot_be_used_is_refused(
    monkeypatch: pytest.MonkeyPatch, expected: str, proxy: str
) -> None:
    only(monkeypatch, {"http_proxy": proxy})
    with pytest.raises(ConfigurationError, match=f"{expected}.*such as http://proxy") as caught:
        OpenAITransport("http://model.test/v1", "", {}, reactor=reactor)
    assert "secret" not in str(caught.value)
