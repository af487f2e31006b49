"""The choice of a model, from the environment and the settings."""

import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from evennia_ai.errors import ConfigurationError
from evennia_ai.llm.endpoints import (
    LOCAL_MODEL,
    PRESETS,
    Endpoint,
    from_provider,
    provider_of,
    resolve,
)

KEY = "sk-very-secret"
URL = "http://127.0.0.1:11434/v1"
LOCAL = Endpoint("local", LOCAL_MODEL, tool_mode="json")
SCRIPTED = Endpoint("scripted", "scripted")
OPENAI = Endpoint("openai", "m", "https://api.openai.com/v1", KEY)
CUSTOM = Endpoint("custom", "m", URL)
LEFT_OUT = "OPENAI_API_KEY is not sent to the address in {}: set it there too if it belongs to it"


def _environ(model: str = "", url: str = "", key: str = "", mode: str = "") -> dict[str, str]:
    values = {
        "EVENNIA_AI_MODEL": model,
        "OPENAI_BASE_URL": url,
        "OPENAI_API_KEY": key,
        "EVENNIA_AI_TOOL_MODE": mode,
    }
    return {name: value for name, value in values.items() if value}


NOTHING: dict[str, str] = {}


@pytest.mark.parametrize(
    ("environ", "settings", "expected"),
    [
        (NOTHING, NOTHING, LOCAL),
        (_environ("m", key=KEY), NOTHING, OPENAI),
        (_environ("m", URL), NOTHING, CUSTOM),
        (_environ("m", URL, KEY), NOTHING, Endpoint("custom", "m", URL, KEY)),
        (_environ("m", URL + "/"), NOTHING, CUSTOM),
        (_environ("m", URL + "/chat/completions"), NOTHING, CUSTOM),
        (_environ(" m ", f" {URL} "), NOTHING, CUSTOM),
        (NOTHING, _environ("m", key=KEY), OPENAI),
        (NOTHING, _environ("m", URL), CUSTOM),
        (_environ("m"), _environ(url=URL), CUSTOM),
        (_environ(url=URL), _environ("m"), CUSTOM),
        (_environ("m", URL), _environ("other", "http://other/v1"), CUSTOM),
        (_environ("m", key=KEY), _environ(url=URL),
         replace(CUSTOM, notice=LEFT_OUT.format("settings"))),
        (_environ("m", URL), _environ(key=KEY),
         replace(CUSTOM, notice=LEFT_OUT.format("the environment"))),
        (_environ("m", key="sk-other"), _environ(url=URL, key=KEY),
         replace(CUSTOM, api_key=KEY, notice=LEFT_OUT.format("settings"))),
        (_environ(key=KEY), _environ("m"), OPENAI),
        (_environ("scripted"), NOTHING, SCRIPTED),
        (_environ("scripted", URL, KEY), NOTHING, SCRIPTED),
        (NOTHING, _environ("scripted"), SCRIPTED),
        (_environ("scripted"), _environ("m", URL, KEY), SCRIPTED),
        (_environ("local"), _environ("m", URL, KEY), LOCAL),
        (_environ("m", URL), _environ("scripted"), CUSTOM),
        (_environ("m", URL, mode="json"), NOTHING, Endpoint("custom", "m", URL, tool_mode="json")),
        (_environ("m", URL), _environ(mode="json"), Endpoint("custom", "m", URL, tool_mode="json")),
        (_environ("m", "https://openrouter.ai/api/v1", KEY), NOTHING,
         Endpoint("openrouter", "m", "https://openrouter.ai/api/v1", KEY)),
        (_environ("m", "https://API.anthropic.com/v1", KEY), NOTHING,
         Endpoint("anthropic", "m", "https://API.anthropic.com/v1", KEY)),
    ],
)  # fmt: skip
def test_what_is_set_decides(
    environ: dict[str, str], settings: dict[str, str], expected: Endpoint
) -> None:
    """The environment goes before the settings, an endpoint before the embedded model."""
    assert expected == resolve(environ, SimpleNamespace(**settings))


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        (
            _environ("m"),
            "EVENNIA_AI_MODEL is 'm' in the environment, but neither OPENAI_BASE_URL nor "
            "OPENAI_API_KEY says where it answers; set one of them, or EVENNIA_AI_MODEL to "
            "'local' or 'scripted'",
        ),
        *(
            (
                _environ("m", url),
                f"OPENAI_BASE_URL is '{url}'; it must be a web address such as "
                "http://127.0.0.1:11434/v1",
            )
            for url in ("localhost:1234", "http://", "http://host:port/v1", "http://[::1/v1")
        ),
        (
            _environ("m", "https://tom:hush@host/v1"),
            "OPENAI_BASE_URL holds a user name or a password, which logs would show; "
            "put the key into OPENAI_API_KEY",
        ),
        (
            _environ("m", "https://host/v1?key=hush"),
            "OPENAI_BASE_URL has a '?' or a '#', behind which no path can be added; leave all that "
            "out",
        ),
        (
            _environ("m", URL, mode="xml"),
            "EVENNIA_AI_TOOL_MODE is 'xml'; it must be native or json",
        ),
    ],
)
def test_a_wrong_setting_is_named_with_what_would_be_right(
    environ: dict[str, str], expected: str
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        resolve(environ)
    assert expected == str(caught.value)


def test_a_model_named_in_the_settings_is_said_to_be_there() -> None:
    with pytest.raises(ConfigurationError, match="is 'm' in settings"):
        resolve({}, SimpleNamespace(EVENNIA_AI_MODEL="m"))


@pytest.mark.parametrize("name", ["OPENAI_BASE_URL", "OPENAI_API_KEY"])
def test_an_address_without_a_model_is_not_used_and_that_is_said(name: str) -> None:
    """A key left in the shell for another program must not change the game's model."""
    endpoint = resolve({name: "http://127.0.0.1/v1"})
    assert "local" == endpoint.provider
    assert f"{name} is set but EVENNIA_AI_MODEL is not, so it is not used" == endpoint.notice


def test_settings_of_another_type_are_read_as_text() -> None:
    """None counts as unset."""
    assert LOCAL == resolve({}, SimpleNamespace(EVENNIA_AI_MODEL=None, OPENAI_API_KEY=None))
    assert LOCAL == resolve({}, None)


@pytest.mark.parametrize(
    ("endpoint", "expected"),
    [
        (LOCAL, "demo brain, offline: short answers, often wrong"),
        (SCRIPTED, "scripted model: fixed answers, for building and tests"),
        (OPENAI, "m via openai"),
        (Endpoint("custom", "m", URL, KEY), f"m via {URL}"),
    ],
)
def test_an_endpoint_is_described_in_one_line_without_its_key(
    endpoint: Endpoint, expected: str
) -> None:
    assert expected == endpoint.describe()
    assert KEY not in repr(endpoint) + str(endpoint) + endpoint.describe()


@pytest.mark.parametrize(
    ("base_url", "expected"),
    [
        ("https://api.openai.com/v1", "openai"),
        ("https://api.openai.com.evil.example/v1", "custom"),
        ("http://127.0.0.1:11434/v1", "custom"),
        ("https://OPENROUTER.ai/api/v1", "openrouter"),
    ],
)
def test_a_provider_is_known_by_its_whole_host_name(base_url: str, expected: str) -> None:
    assert expected == provider_of(base_url)


@pytest.mark.parametrize(
    ("provider", "model", "expected"),
    [
        ("", "", OPENAI),
        ("", "big", Endpoint("openai", "big", OPENAI.base_url, KEY)),
        ("openai", "big", Endpoint("openai", "big", OPENAI.base_url, KEY)),
        ("scripted", "", SCRIPTED),
        ("local", "", LOCAL),
        ("ollama", "small", Endpoint("ollama", "small", "http://127.0.0.1:11434/v1")),
        ("openrouter", "x", Endpoint("openrouter", "x", "https://openrouter.ai/api/v1")),
    ],
)
def test_an_assistant_may_choose_its_own_model(
    provider: str, model: str, expected: Endpoint
) -> None:
    """Empty values are the game's; another provider never gets the game's key."""
    assert expected == from_provider(provider, model, OPENAI)


def test_an_unknown_provider_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigurationError) as caught:
        from_provider("opnai", "m", LOCAL)
    expected = f"llm_provider is 'opnai'; it must be one of {', '.join(PRESETS)}"
    assert expected == str(caught.value)


def test_the_launcher_may_ask_before_anything_is_installed() -> None:
    """The module imports nothing but the standard library and this package."""
    script = (
        "import sys; import evennia_ai.llm.endpoints;"
        "print(sorted({n.split('.')[0] for n in sys.modules} - set(sys.stdlib_module_names)"
        " - {'__main__', '__mp_main__'}))"
    )
    done: Any = subprocess.run(
        [sys.executable, "-S", "-c", script], capture_output=True, text=True, timeout=60, check=True
    )
    assert "['evennia_ai']" == done.stdout.strip()
