"""Models to try when the first one fails, read from a setting with strict validation.

    EVENNIA_AI_FALLBACK_MODELS = [
        "gpt-x-mini",                                     # another model of the same address
        {"model": "m", "base_url": "https://host/v1", "api_key_env": "HOST_KEY"},
        {"model": "m", "endpoints": [{"base_url": "http://10.0.0.2/v1", "weight": 3}, ...]},
        "local",                                          # the embedded model; or "scripted"
    ]

An entry names the variable that holds its key, never the key itself: settings are shown and logged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from evennia_ai.errors import ConfigurationError
from evennia_ai.llm.endpoints import BUILT_IN, TOOL_MODES, Endpoint, checked_url, provider_of
from evennia_ai.llm.replicas import at_all, check_keys, key_named, read_replicas

NAME = "EVENNIA_AI_FALLBACK_MODELS"
OWN_NAME = "llm_fallback_models"
RIGHT_FORM = "a list such as ['a-smaller-model', 'local']"
RIGHT_ENTRY = "a model's name, or like {'model': 'm', 'base_url': 'http://127.0.0.1:11434/v1'}"
TEXTS = ("model", "base_url", "tool_mode", "api_key_env")
KEYS = (*TEXTS, "endpoints")


def read_fallbacks(
    given: object, first: Endpoint, environ: Mapping[str, str], settings: object = None
) -> tuple[Endpoint, ...]:
    """The fallback models of the game, in order and without duplicates.

    Args:
        given: the setting's value.
        first: the preferred model; an entry that is only a name is another model at its address.
        environ: environment variables, where keys are looked up first.
        settings: an object that may have keys as attributes (Django's settings), or None.

    Raises:
        ConfigurationError: the list, or an entry of it, is wrong.
    """
    endpoints = []
    for number, entry in enumerate(_entries(given, NAME)):
        path = f"{NAME}[{number}]"
        if isinstance(entry, str):
            endpoints.append(_by_name(entry, first, path))
        elif isinstance(entry, Mapping):
            endpoints.append(_Entry(entry, path).endpoint(first, environ, settings))
        else:
            raise ConfigurationError(f"{path} is {entry!r}; it must be {RIGHT_ENTRY}")
    return distinct(endpoints, first)


def read_own_fallbacks(given: object, first: Endpoint) -> tuple[Endpoint, ...]:
    """The fallback models of one assistant; its list holds names only, no addresses or keys.

    Raises:
        ConfigurationError: the list, or an entry of it, is wrong.
    """
    endpoints = []
    for number, entry in enumerate(_entries(given, OWN_NAME)):
        path = f"{OWN_NAME}[{number}]"
        if not isinstance(entry, str):
            raise ConfigurationError(
                f"{path} is not text; it must be a model's name: addresses are the game's to set,"
                f" in {NAME}"
            )
        endpoints.append(_by_name(entry, first, path))
    return distinct(endpoints, first)


def _entries(given: object, name: str) -> list[object]:
    if isinstance(given, (str, bytes, Mapping)) or not hasattr(given, "__iter__"):
        raise ConfigurationError(f"{name} is {given!r}; it must be {RIGHT_FORM}")
    return list(given)


def distinct(endpoints: Sequence[Endpoint], first: Endpoint) -> tuple[Endpoint, ...]:
    """The models without duplicates and without the first one.

    A model counts as a duplicate only if all its addresses are already in the list.
    """
    if not endpoints:  # most games have no fallbacks
        return ()
    others, seen = [], _places(first)
    for each in endpoints:
        places = _places(each)
        if not places <= seen:
            others.append(each)
            seen |= places
    return tuple(others)


def _places(endpoint: Endpoint) -> set[tuple[str, str]]:
    """The pairs of address and model name at which an endpoint is asked."""
    return {(one.base_url or one.provider, one.model) for one in endpoint.each}


def _by_name(model: str, first: Endpoint, path: str) -> Endpoint:
    model = model.strip()
    if model in BUILT_IN:
        return BUILT_IN[model]
    if not model:
        raise ConfigurationError(f"{path} is empty; it must be {RIGHT_ENTRY}")
    if not first.base_url:
        raise ConfigurationError(
            f"{path} is {model!r}, but the first model is {first.provider!r}, which has no other"
            f" models; it must say where it answers, like {{'model': {model!r}, 'base_url': ...}}"
        )
    return replace(first, model=model, notice="")


class _Entry:
    """One entry that is a mapping; `path` locates it in error texts."""

    def __init__(self, entry: Mapping[object, object], path: str) -> None:
        self._path = path
        check_keys(entry, KEYS, path)
        self._endpoints = entry.get("endpoints")
        self._values = {key: self._text(key, entry.get(key, "")) for key in TEXTS}

    def _text(self, key: str, value: object) -> str:
        if not isinstance(value, str):
            raise ConfigurationError(f"{self._path}[{key!r}] is {value!r}; it must be text")
        return value.strip()

    def endpoint(self, first: Endpoint, environ: Mapping[str, str], settings: object) -> Endpoint:
        """The endpoint that the entry names."""
        model, base_url = self._values["model"], self._values["base_url"]
        if not model:
            raise ConfigurationError(f"{self._path} has no 'model'; it must be {RIGHT_ENTRY}")
        if self._endpoints is not None:
            return self._at_several(model, first, environ, settings)
        if base_url:
            endpoint = self._elsewhere(model, base_url, first)
        else:
            endpoint = _by_name(model, first, self._path)
        key = key_named(self._values["api_key_env"], self._path, environ, settings)
        return replace(
            endpoint,
            api_key=key or endpoint.api_key,
            tool_mode=self._mode(endpoint),
            # The first model's replicas have keys of their own; this key is for one address.
            replicas=() if key else endpoint.replicas,
        )

    def _at_several(
        self, model: str, first: Endpoint, environ: Mapping[str, str], settings: object
    ) -> Endpoint:
        if self._values["base_url"] or self._values["api_key_env"]:
            raise ConfigurationError(
                f"{self._path} has 'endpoints' beside 'base_url' or 'api_key_env'; these two stand"
                " in the entries of 'endpoints' then"
            )
        path = f"{self._path}['endpoints']"
        replicas = read_replicas(self._endpoints, path, first, environ, settings)
        endpoint = self._elsewhere(model, replicas[0].base_url, first)
        return at_all(replace(endpoint, tool_mode=self._mode(endpoint)), replicas)

    def _elsewhere(self, model: str, base_url: str, first: Endpoint) -> Endpoint:
        name = f"{self._path}['base_url']"
        address = checked_url(base_url, name, "put the key's name into 'api_key_env'")
        # A key is sent to the address it was set for, and to no other.
        key = first.api_key if address == first.base_url else ""
        return Endpoint(provider_of(address), model, address, key)

    def _mode(self, endpoint: Endpoint) -> str:
        mode = self._values["tool_mode"] or endpoint.tool_mode
        if mode not in TOOL_MODES:
            raise ConfigurationError(
                f"{self._path}['tool_mode'] is {mode!r}; it must be {' or '.join(TOOL_MODES)}"
            )
        return mode
