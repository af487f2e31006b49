"""Several addresses of one model, read from a setting with strict validation.

    EVENNIA_AI_ENDPOINTS = [
        {"base_url": "http://10.0.0.2:8000/v1", "weight": 3},
        {"base_url": "http://10.0.0.3:8000/v1", "api_key_env": "SECOND_KEY", "most_calls": 8},
    ]

An entry names the variable that holds its key, never the key itself: settings are shown and logged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from evennia_ai.errors import ConfigurationError
from evennia_ai.llm.endpoints import Endpoint, Replica, checked_url

NAME = "EVENNIA_AI_ENDPOINTS"
RIGHT_FORM = "a list such as [{'base_url': 'http://10.0.0.2:8000/v1', 'weight': 3}]"
KEYS = ("base_url", "weight", "api_key_env", "most_calls")
MOST_REPLICAS, MOST_WEIGHT, MOST_CALLS = 64, 1_000, 100_000


def with_replicas(
    endpoint: Endpoint, given: object, environ: Mapping[str, str], settings: object = None
) -> Endpoint:
    """The game's model with all addresses of the setting; unchanged if the setting is empty.

    Args:
        given: the value of the setting EVENNIA_AI_ENDPOINTS.
        environ: environment variables, where keys are looked up first.
        settings: an object that may have keys as attributes (Django's settings), or None.

    Raises:
        ConfigurationError: the list or an entry is wrong, or the model's own address is missing.
    """
    if given in ((), []):
        return endpoint
    replicas = read_replicas(given, NAME, endpoint, environ, settings)
    if not endpoint.base_url:
        raise ConfigurationError(
            f"{NAME} lists addresses, but the game's model is {endpoint.provider!r}, which has"
            " none; set EVENNIA_AI_MODEL, and OPENAI_BASE_URL to one of them"
        )
    if all(each.base_url != endpoint.base_url for each in replicas):
        raise ConfigurationError(
            f"{NAME} does not list {endpoint.base_url!r}, which OPENAI_BASE_URL names; it must list"
            " every address of the model, that one too"
        )
    return at_all(endpoint, replicas)


def at_all(endpoint: Endpoint, replicas: tuple[Replica, ...]) -> Endpoint:
    """The endpoint with these addresses; a single one without a limit needs no spreading."""
    if len(replicas) > 1 or replicas[0].most_calls:
        return replace(endpoint, replicas=replicas)
    return replace(endpoint, api_key=replicas[0].api_key)


def read_replicas(
    given: object, path: str, owner: Endpoint, environ: Mapping[str, str], settings: object
) -> tuple[Replica, ...]:
    """The addresses of a list.

    Args:
        path: of the list, for error texts.
        owner: the endpoint whose key is used for its own address if the entry names none.

    Raises:
        ConfigurationError: the list or an entry of it is wrong.
    """
    if not isinstance(given, (list, tuple)) or not given:
        raise ConfigurationError(f"{path} is {given!r}; it must be {RIGHT_FORM}")
    if len(given) > MOST_REPLICAS:
        raise ConfigurationError(f"{path} has {len(given)} entries; {MOST_REPLICAS} are the most")
    replicas: dict[str, Replica] = {}
    for number, entry in enumerate(given):
        each = _replica(entry, f"{path}[{number}]", owner, environ, settings)
        if each.base_url in replicas:
            raise ConfigurationError(
                f"{path}[{number}]['base_url'] is {each.base_url!r}, which an entry before it"
                " names already; it must be another address"
            )
        replicas[each.base_url] = each
    return tuple(replicas.values())


def _replica(
    entry: object, path: str, owner: Endpoint, environ: Mapping[str, str], settings: object
) -> Replica:
    if not isinstance(entry, Mapping):
        raise ConfigurationError(f"{path} is {entry!r}; it must be as in {RIGHT_FORM}")
    check_keys(entry, KEYS, path)
    address = entry.get("base_url")
    if not isinstance(address, str) or not address.strip():
        raise ConfigurationError(f"{path} has no 'base_url'; it must be as in {RIGHT_FORM}")
    base_url = checked_url(
        address.strip(), f"{path}['base_url']", "put the key's name into 'api_key_env'"
    )
    name = entry.get("api_key_env", "")
    key = key_named(name, path, environ, settings)
    # The model's key must not be sent to any address but the one it was set for.
    key = key or (owner.api_key if base_url == owner.base_url else "")
    calls = entry.get("most_calls", 0)
    # Not isinstance: a bool is an int.
    if type(calls) is not int or not 0 <= calls <= MOST_CALLS:
        raise ConfigurationError(
            f"{path}['most_calls'] is {calls!r}; it must be a whole number from 0 to {MOST_CALLS:,}"
        )
    return Replica(base_url, key, _weight(entry.get("weight", 1), path), calls)


def _weight(given: Any, path: str) -> float:
    is_number = isinstance(given, (int, float)) and not isinstance(given, bool)
    if is_number and 0 < given <= MOST_WEIGHT:
        return float(given)
    raise ConfigurationError(
        f"{path}['weight'] is {given!r}; it must be a number above 0, at most {MOST_WEIGHT:,}"
    )


def check_keys(entry: Mapping[object, object], known: tuple[str, ...], path: str) -> None:
    """Refuse an entry that holds an API key itself or an unknown member.

    Raises:
        ConfigurationError: it does.
    """
    if "api_key" in entry:
        raise ConfigurationError(
            f"{path} holds an 'api_key', which logs would show; put the key into the"
            " environment or secret_settings.py, and its name there into 'api_key_env'"
        )
    unknown = sorted(str(key) for key in entry if key not in known)
    if unknown:
        raise ConfigurationError(f"{path} has a key {unknown[0]!r}; it may have {', '.join(known)}")


def key_named(name: object, path: str, environ: Mapping[str, str], settings: object) -> str:
    """The API key in the variable that an entry names; "" if the entry names none.

    Raises:
        ConfigurationError: no such variable or setting has a value.
    """
    if name == "":
        return ""
    if not isinstance(name, str):
        raise ConfigurationError(f"{path}['api_key_env'] is {name!r}; it must be text")
    name = name.strip()
    key = environ.get(name, "").strip() or str(getattr(settings, name, None) or "").strip()
    if not key:
        # The name is not quoted: it may be the key itself, put there by mistake.
        raise ConfigurationError(
            f"{path}['api_key_env'] names nothing that is set; it must be the name of an"
            " environment variable, or of a setting in secret_settings.py, that holds the key"
        )
    return key
