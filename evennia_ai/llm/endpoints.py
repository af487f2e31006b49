"""The choice of a model from the environment and the game's settings.

In this order: OPENAI_BASE_URL and/or OPENAI_API_KEY together with EVENNIA_AI_MODEL, from the
environment and then from `secret_settings.py`; EVENNIA_AI_MODEL=scripted; else the embedded model.
Standard library only, because the launcher calls it before any dependency is installed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from urllib.parse import urlsplit

from evennia_ai.core.text.web_addresses import UrlFault, url_fault
from evennia_ai.errors import ConfigurationError

# The path of a request below the base URL.
COMPLETIONS = "/chat/completions"
LOCAL_MODEL = "qwen2.5-coder-0.5b-instruct"
SCRIPTED = "scripted"
TOOL_MODES = ("native", "json")
KEYS = ("OPENAI_BASE_URL", "OPENAI_API_KEY", "EVENNIA_AI_MODEL", "EVENNIA_AI_TOOL_MODE")


@dataclass(frozen=True, slots=True)
class Preset:
    """Known facts about a provider."""

    base_url: str
    host: str = ""
    tool_mode: str = "native"


LOCAL = "local"

PRESETS = {
    "openai": Preset("https://api.openai.com/v1", "api.openai.com"),
    "anthropic": Preset("https://api.anthropic.com/v1", "api.anthropic.com"),
    "openrouter": Preset("https://openrouter.ai/api/v1", "openrouter.ai"),
    "ollama": Preset("http://127.0.0.1:11434/v1"),
    "local": Preset("", tool_mode="json"),
    SCRIPTED: Preset(""),
}


@dataclass(frozen=True, slots=True)
class Replica:
    """One of several addresses that serve the same model.

    Attributes:
        api_key: never shown; not part of repr.
        weight: its share of the calls, relative to the other weights.
        most_calls: limit on calls in flight there; 0: only the game's own limit counts.
    """

    base_url: str
    api_key: str = field(default="", repr=False)
    weight: float = 1.0
    most_calls: int = 0


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A model and its address.

    Attributes:
        provider: a key of PRESETS, or "custom".
        base_url: root of the chat completions API; "" for the embedded and the scripted model.
        api_key: never shown; not part of repr.
        tool_mode: "native" tool calls, or "json" for models that answer by a JSON schema.
        notice: a warning for the owner about this choice, or "".
        replicas: all addresses of the model if there are several; `base_url` is one of them.
    """

    provider: str
    model: str
    base_url: str = ""
    api_key: str = field(default="", repr=False)
    tool_mode: str = "native"
    notice: str = ""
    replicas: tuple[Replica, ...] = ()

    @property
    def is_local(self) -> bool:
        """True for the embedded model."""
        return self.provider == "local"

    def at(self, replica: Replica) -> Endpoint:
        """The same model at this address only."""
        provider = provider_of(replica.base_url)
        return replace(
            self, provider=provider, base_url=replica.base_url, api_key=replica.api_key, replicas=()
        )

    @property
    def each(self) -> tuple[Endpoint, ...]:
        """One endpoint for each address; the endpoint itself if it has only one."""
        return tuple(map(self.at, self.replicas)) or (self,)

    def describe(self) -> str:
        """A one-line description for people."""
        if self.provider == "local":
            return "demo brain, offline: short answers, often wrong"
        if self.provider == SCRIPTED:
            return "scripted model: fixed answers, for building and tests"
        where = self.provider if self.provider != "custom" else self.base_url
        more = f" and {len(self.replicas) - 1} more" if self.replicas else ""
        return f"{self.model} via {where}{more}"


# The models that need no address, by the names that settings give them.
BUILT_IN = {
    LOCAL: Endpoint(LOCAL, LOCAL_MODEL, tool_mode="json"),
    SCRIPTED: Endpoint(SCRIPTED, SCRIPTED),
}


def provider_of(base_url: str) -> str:
    """The preset that a base URL belongs to, or "custom"."""
    host = (urlsplit(base_url).hostname or "").casefold()
    matches = (name for name, preset in PRESETS.items() if preset.host and preset.host == host)
    return next(matches, "custom")


def checked_url(
    base_url: str, name: str = KEYS[0], advice: str = f"put the key into {KEYS[1]}"
) -> str:
    """The address without a trailing slash, and without the path of a request.

    Args:
        name: the setting it comes from, for the error's text.
        advice: tells, in that text, where a key belongs.

    Raises:
        ConfigurationError: it is not a web address, or holds a user name, password or query.
    """
    fault = url_fault(base_url)
    if fault is UrlFault.LOGIN:
        raise ConfigurationError(
            f"{name} holds a user name or a password, which logs would show; {advice}"
        )
    if fault is not None:
        raise ConfigurationError(
            f"{name} is {base_url!r}; it must be a web address such as http://127.0.0.1:11434/v1"
        )
    if "?" in base_url or "#" in base_url:  # its end may be a key
        raise ConfigurationError(
            f"{name} has a '?' or a '#', behind which no path can be added; leave all that out"
        )
    # The pages of many services show the whole address of a request.
    return base_url.rstrip("/").removesuffix(COMPLETIONS)


def _with_tool_mode(endpoint: Endpoint, tool_mode: str) -> Endpoint:
    if not tool_mode:
        return endpoint
    if tool_mode not in TOOL_MODES:
        raise ConfigurationError(
            f"EVENNIA_AI_TOOL_MODE is {tool_mode!r}; it must be {' or '.join(TOOL_MODES)}"
        )
    return replace(endpoint, tool_mode=tool_mode)


def _from_values(values: Mapping[str, str], origin: str) -> Endpoint | None:
    """The endpoint that the values name, or None when they name no model."""
    model, base_url, key = (
        values["EVENNIA_AI_MODEL"],
        values["OPENAI_BASE_URL"],
        values["OPENAI_API_KEY"],
    )
    if model in BUILT_IN:
        return BUILT_IN[model]
    if model and (base_url or key):
        base_url = checked_url(base_url or PRESETS["openai"].base_url)
        return Endpoint(provider_of(base_url), model, base_url, key)
    if model:
        raise ConfigurationError(
            f"EVENNIA_AI_MODEL is {model!r} in {origin}, but neither OPENAI_BASE_URL nor "
            "OPENAI_API_KEY says where it answers; set one of them, or EVENNIA_AI_MODEL to 'local' "
            "or 'scripted'"
        )
    return None


def _keep_key_with_address(
    mixed: dict[str, str], from_environ: Mapping[str, str], from_settings: Mapping[str, str]
) -> str:
    """Drop a key that does not come from the same source as the address.

    Returns:
        A notice for the owner if a key was dropped, or "".
    """
    # A key in `secret_settings.py` may be OpenAI's; an address from the environment would get it.
    address, key = KEYS[:2]
    sources = (("the environment", from_environ), ("settings", from_settings))
    origin, beside = next((pair for pair in sources if pair[1][address]), ("", mixed))
    left_out = mixed[key] and mixed[key] != beside[key]
    mixed[key] = beside[key]
    if not left_out or not mixed["EVENNIA_AI_MODEL"]:
        return ""
    return f"{key} is not sent to the address in {origin}: set it there too if it belongs to it"


def resolve(environ: Mapping[str, str], settings: object = None) -> Endpoint:
    """Decide which model the game uses.

    Args:
        environ: environment variables.
        settings: an object with the same names as attributes (Django's settings), or None.

    Raises:
        ConfigurationError: the settings contradict each other or are incomplete.
    """
    return _resolved(
        tuple([environ.get(key, "").strip() for key in KEYS]),
        tuple([str(getattr(settings, key, None) or "").strip() for key in KEYS]),
    )


@lru_cache(maxsize=8)
def _resolved(of_environ: tuple[str, ...], of_settings: tuple[str, ...]) -> Endpoint:
    """The endpoint for two tuples of values, each in the order of KEYS."""
    from_environ = dict(zip(KEYS, of_environ, strict=True))
    from_settings = dict(zip(KEYS, of_settings, strict=True))
    mixed = {key: from_environ[key] or from_settings[key] for key in KEYS}
    notice = _keep_key_with_address(mixed, from_environ, from_settings)
    endpoint = _from_values(
        mixed, "the environment" if from_environ["EVENNIA_AI_MODEL"] else "settings"
    )
    if endpoint is None:
        idle = next((key for key in KEYS[:2] if mixed[key]), "")
        if idle:
            notice = f"{idle} is set but EVENNIA_AI_MODEL is not, so it is not used"
        endpoint = BUILT_IN[LOCAL]
    endpoint = replace(endpoint, notice=notice)
    return _with_tool_mode(endpoint, mixed["EVENNIA_AI_TOOL_MODE"])


def from_provider(provider: str, model: str, fallback: Endpoint) -> Endpoint:
    """The endpoint for an assistant's own provider and model; "" for either takes the game's.

    Raises:
        ConfigurationError: the provider is unknown.
    """
    if not provider or provider == fallback.provider:
        return replace(fallback, model=model) if model else fallback
    if provider not in PRESETS:
        raise ConfigurationError(
            f"llm_provider is {provider!r}; it must be one of {', '.join(PRESETS)}"
        )
    preset = PRESETS[provider]
    default_model = BUILT_IN.get(provider, fallback).model
    # The game's key must not reach another provider.
    key = fallback.api_key if fallback.base_url == preset.base_url else ""
    return Endpoint(provider, model or default_model, preset.base_url, key, preset.tool_mode)
