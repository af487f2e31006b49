"""The list of fallback models: its valid forms, and the error for each mistake."""

from types import SimpleNamespace
from typing import Any

import pytest

from evennia_ai.errors import ConfigurationError
from evennia_ai.llm.endpoints import LOCAL_MODEL, Endpoint
from evennia_ai.llm.fallback_models import distinct, read_fallbacks, read_own_fallbacks

KEY, OTHER_KEY = "sk-first", "sk-other"
OPENAI_URL = "https://api.openai.com/v1"
FIRST = Endpoint("openai", "m", OPENAI_URL, KEY, notice="something")
LOCAL = Endpoint("local", LOCAL_MODEL, tool_mode="json")
SCRIPTED = Endpoint("scripted", "scripted")
OLLAMA_URL = "http://127.0.0.1:11434/v1"
ENVIRON = {"OTHER_KEY": f" {OTHER_KEY} "}


def _read(entry: Any, first: Endpoint = FIRST, settings: object = None) -> tuple[Endpoint, ...]:
    return read_fallbacks([entry], first, ENVIRON, settings)


@pytest.mark.parametrize(
    ("expected", "entry"),
    [
        pytest.param(Endpoint("openai", "mini", OPENAI_URL, KEY), "mini", id="another model"),
        pytest.param(Endpoint("openai", "mini", OPENAI_URL, KEY), " mini ", id="with blanks"),
        pytest.param(LOCAL, "local", id="the embedded model"),
        pytest.param(SCRIPTED, "scripted", id="the scripted model"),
        pytest.param(LOCAL, {"model": "local"}, id="the embedded model, at length"),
        pytest.param(Endpoint("openai", "mini", OPENAI_URL, KEY, "json"),
                     {"model": "mini", "tool_mode": "json"}, id="another model in another mode"),
        pytest.param(Endpoint("custom", "llama3.2", OLLAMA_URL),
                     {"model": "llama3.2", "base_url": OLLAMA_URL + "/"}, id="another address"),
        pytest.param(
            Endpoint("openrouter", "x", "https://openrouter.ai/api/v1", OTHER_KEY),
            {
                "model": "x",
                "base_url": "https://openrouter.ai/api/v1",
                "api_key_env": "OTHER_KEY",
            },
            id="another address with its key",
        ),
        pytest.param(Endpoint("openai", "mini", OPENAI_URL, KEY),
                     {"model": "mini", "base_url": OPENAI_URL}, id="the same address, at length"),
        pytest.param(Endpoint("openai", "mini", OPENAI_URL, OTHER_KEY),
                     {"model": "mini", "api_key_env": "OTHER_KEY"},
                     id="the same address with another key"),
        pytest.param(Endpoint("custom", "local", OLLAMA_URL),
                     {"model": "local", "base_url": OLLAMA_URL},
                     id="a model elsewhere that is called local"),
    ],
)  # fmt: skip
def test_an_entry_is_an_endpoint(expected: Endpoint, entry: Any) -> None:
    """A key is sent only to the address that it was set for."""
    assert (expected,) == _read(entry)


def test_a_key_may_stand_in_the_settings() -> None:
    """The environment goes before secret_settings.py."""
    entry = {"model": "x", "base_url": OLLAMA_URL, "api_key_env": "OTHER_KEY"}
    settings = SimpleNamespace(OTHER_KEY="sk-settings", SECOND_KEY="sk-second")
    assert OTHER_KEY == _read(entry, settings=settings)[0].api_key
    assert (
        "sk-second" == _read({**entry, "api_key_env": "SECOND_KEY"}, settings=settings)[0].api_key
    )


def test_the_order_is_kept_and_nothing_is_asked_twice() -> None:
    given = ["mini", "m", "local", "mini", {"model": "mini", "base_url": OPENAI_URL}, "local"]
    endpoints = read_fallbacks(given, FIRST, {})
    assert ["mini", LOCAL_MODEL] == [each.model for each in endpoints]
    assert () == distinct([SCRIPTED], SCRIPTED)


def test_the_same_model_at_more_addresses_is_another() -> None:
    """It is left out only if each of its addresses is asked already."""
    both = {"model": "m", "endpoints": [{"base_url": OPENAI_URL}, {"base_url": OLLAMA_URL}]}
    (endpoint,) = read_fallbacks([both, {"model": "m", "base_url": OLLAMA_URL}, "m"], FIRST, {})
    assert [OPENAI_URL, OLLAMA_URL] == [each.base_url for each in endpoint.replicas]
    assert () == distinct([FIRST, endpoint], endpoint)


@pytest.mark.parametrize("given", [(), []])
def test_nothing_given_is_nothing(given: Any) -> None:
    assert () == read_fallbacks(given, FIRST, {}) == read_own_fallbacks(given, FIRST)


ENTRY = "a model's name, or like {'model': 'm', 'base_url': 'http://127.0.0.1:11434/v1'}"
PLACE = "EVENNIA_AI_FALLBACK_MODELS[0]"


@pytest.mark.parametrize(
    ("expected", "entry"),
    [
        pytest.param(f"{PLACE} is 7; it must be {ENTRY}", 7, id="a number"),
        pytest.param(f"{PLACE} is None; it must be {ENTRY}", None, id="none"),
        pytest.param(f"{PLACE} is empty; it must be {ENTRY}", " ", id="an empty name"),
        pytest.param(f"{PLACE} has no 'model'; it must be {ENTRY}", {}, id="no model"),
        pytest.param(
            f"{PLACE} has a key 'modle'; it may have model, base_url, tool_mode, api_key_env,"
            " endpoints",
            {"modle": "m"},
            id="a key misspelled",
        ),
        pytest.param(f"{PLACE}['model'] is 3; it must be text", {"model": 3}, id="no text"),
        pytest.param(
            f"{PLACE} holds an 'api_key', which logs would show; put the key into the environment"
            " or secret_settings.py, and its name there into 'api_key_env'",
            {"model": "m", "api_key": KEY},
            id="a key in the open",
        ),
        pytest.param(
            f"{PLACE}['api_key_env'] names nothing that is set; it must be the name of an"
            " environment variable, or of a setting in secret_settings.py, that holds the key",
            {"model": "m", "api_key_env": KEY},
            id="the key where its name belongs",
        ),
        pytest.param(
            f"{PLACE}['tool_mode'] is 'xml'; it must be native or json",
            {"model": "m", "tool_mode": "xml"},
            id="no such mode",
        ),
        pytest.param(
            f"{PLACE}['base_url'] is 'host'; it must be a web address such as {OLLAMA_URL}",
            {"model": "m", "base_url": "host"},
            id="no address",
        ),
        pytest.param(
            f"{PLACE}['base_url'] holds a user name or a password, which logs would show;"
            " put the key's name into 'api_key_env'",
            {"model": "m", "base_url": "https://tom:hush@host/v1"},
            id="a password in the address",
        ),
    ],
)
def test_a_wrong_entry_is_named_with_what_would_be_right(expected: str, entry: Any) -> None:
    with pytest.raises(ConfigurationError) as caught:
        _read(entry)
    assert expected == str(caught.value)


@pytest.mark.parametrize("first", [LOCAL, SCRIPTED], ids=["local", "scripted"])
@pytest.mark.parametrize("entry", ["mini", {"model": "mini"}], ids=["name", "mapping"])
def test_a_name_alone_needs_an_address(first: Endpoint, entry: Any) -> None:
    with pytest.raises(ConfigurationError) as caught:
        _read(entry, first)
    expected = (
        f"{PLACE} is 'mini', but the first model is {first.provider!r}, which has no other models;"
        " it must say where it answers, like {'model': 'mini', 'base_url': ...}"
    )
    assert expected == str(caught.value)


@pytest.mark.parametrize("given", ["mini", b"mini", {"model": "m"}, None, 5])
def test_a_list_that_is_none_is_refused(given: Any) -> None:
    """A lone name, the likeliest mistake, is not read letter by letter."""
    right = "it must be a list such as ['a-smaller-model', 'local']"
    with pytest.raises(ConfigurationError) as caught:
        read_fallbacks(given, FIRST, {})
    assert f"EVENNIA_AI_FALLBACK_MODELS is {given!r}; {right}" == str(caught.value)
    with pytest.raises(ConfigurationError) as caught:
        read_own_fallbacks(given, FIRST)
    assert f"llm_fallback_models is {given!r}; {right}" == str(caught.value)


def test_an_assistants_own_list_holds_names() -> None:
    assert ["mini", LOCAL_MODEL] == [
        each.model for each in read_own_fallbacks(["mini", "local", "m"], FIRST)
    ]


@pytest.mark.parametrize("entry", [{"model": "m", "base_url": "http://evil/v1"}, 7, None])
def test_an_assistants_own_list_holds_no_address(entry: Any) -> None:
    """Whoever may write an attribute must not send the game's words elsewhere."""
    with pytest.raises(ConfigurationError) as caught:
        read_own_fallbacks(["mini", entry], FIRST)
    expected = (
        "llm_fallback_models[1] is not text; it must be a model's name: addresses are the game's to"
        " set, in EVENNIA_AI_FALLBACK_MODELS"
    )
    assert expected == str(caught.value)


def test_no_key_is_shown() -> None:
    (endpoint,) = _read({"model": "x", "base_url": OLLAMA_URL, "api_key_env": "OTHER_KEY"})
    assert OTHER_KEY not in repr(endpoint) + str(endpoint) + endpoint.describe()
