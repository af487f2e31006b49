"""Settings of agents in other systems."""

from typing import Any

import pytest

from evennia_ai.core.settings.remote import Remote, read_remotes
from evennia_ai.errors import ConfigurationError

CARD = "https://maps.example/a2a/atlas"
ENTRY: dict[str, Any] = {"card": CARD, "assistants": ["Ada"]}
SECRET = "not-to-be-shown"


def read(entry: dict[str, Any] | None = None, **more: Any) -> Remote:
    given = ENTRY | more if entry is None else entry
    return read_remotes({"Atlas": given}, {"TOKEN": f" {SECRET}\n", "BLANK": "a b"})["atlas"]


def test_what_is_not_set_has_a_default() -> None:
    remote = read()
    config = remote.config
    assert ("Atlas", "", False, ()) == (remote.name, remote.token, config.private, config.networks)
    assert (60.0, 0.0, 100) == (config.seconds, config.cost, config.tasks_per_day)
    assert {} == read_remotes({}, {})


@pytest.mark.parametrize(
    ("tokens", "most", "believed"), [(4_000, 0, 40_000), (0, 0, 10_000), (4_000, 4_000, 4_000)]
)
def test_an_agent_is_believed_only_so_far(tokens: int, most: int, believed: int) -> None:
    """A report of usage counts up to this: a setting, or a multiple of the reservation."""
    assert believed == read(tokens=tokens, most_tokens=most).config.believed


def test_who_may_ask() -> None:
    remote = read(assistants=["Ada", "Brass"])
    assert [True, True, False] == [remote.serves(name) for name in ("ADA", "brass", "Cora")]
    assert read(assistants=["*"]).serves("anybody")


@pytest.mark.parametrize(
    ("card", "url"),
    [
        (CARD, f"{CARD}/.well-known/agent-card.json"),
        (f"{CARD}/", f"{CARD}/.well-known/agent-card.json"),
        ("https://maps.example/card.json", "https://maps.example/card.json"),
    ],
)
def test_where_its_card_is(card: str, url: str) -> None:
    assert url == read(card=card).card_url == read(card=card).where


def test_where_it_is_tells_no_secret() -> None:
    """A query string may be secret."""
    assert (
        "https://maps.example/card.json"
        == read(card="https://maps.example/card.json?key=x.json").where
    )


def test_a_token_is_of_the_environment_and_is_not_shown() -> None:
    remote = read(token_env="TOKEN")
    assert SECRET == remote.token
    assert SECRET not in repr(remote)
    assert "said ***!" == remote.without_token(f"said {SECRET}!")
    assert "said nothing" == read().without_token("said nothing")


@pytest.mark.parametrize(
    ("words", "more"),
    [
        ("].card is 'maps.example'; it must be the address of an agent", {"card": "maps.example"}),
        ("].card is 'https://a b/'; it must be the address", {"card": "https://a b/"}),
        (
            "].card is '***'; it must be an address without a user",
            {"card": "https://u:p@a.example"},
        ),
        ("].card is ''; it must be the address", {"card": ""}),
        ("].assistants is []; it must be names of assistants, or ['*']", {"assistants": []}),
        ("].assistants is 'Ada'; it must be", {"assistants": "Ada"}),
        ("].seconds is 0; it must be", {"seconds": 0}),
        ("].cost is -1; it must be", {"cost": -1}),
        ("].private is 1; it must be", {"private": 1}),
        ("].most_tokens is 9; it must be 0, or 4000 at least", {"most_tokens": 9}),
        (
            "].networks has 'everywhere'; it must be a list of addresses",
            {"networks": ["everywhere"]},
        ),
        ("] has no key 'toke'; it has card, assistants", {"toke": 1}),
        ("].token_env is 'GONE', but there is no such environment variable", {"token_env": "GONE"}),
        ("what that variable holds cannot be sent as a token", {"token_env": "BLANK"}),
    ],
)
def test_what_is_wrong_is_told(words: str, more: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError) as refused:
        read(**more)
    assert words in str(refused.value)
    assert str(refused.value).startswith("EVENNIA_AI_REMOTE_SPECIALISTS['Atlas'")
    assert "u:p" not in str(refused.value)


@pytest.mark.parametrize(
    ("words", "given"),
    [
        ("is of type list; it must be a mapping such as", []),
        ("names an agent 3; a name is a letter", {3: ENTRY}),
        ("names an agent 'two words'; a name is a letter", {"two words": ENTRY}),
        ("names 'ATLAS' twice, but for small and capital", {"Atlas": ENTRY, "ATLAS": ENTRY}),
        ("['Atlas'] is 3; it must be", {"Atlas": 3}),
    ],
)
def test_the_whole_is_a_mapping_of_names(words: str, given: object) -> None:
    with pytest.raises(ConfigurationError) as refused:
        read_remotes(given, {})
    assert words in str(refused.value)
