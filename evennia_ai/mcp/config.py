"""The setting EVENNIA_AI_MCP_SERVERS, read strictly: each server and the tools it may offer."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from evennia_ai.core.text.web_addresses import UrlFault, url_fault
from evennia_ai.core.turn.toolspec import ToolCategory
from evennia_ai.errors import ConfigurationError

SETTING = "EVENNIA_AI_MCP_SERVERS"
CATEGORIES = (ToolCategory.ASYNC_REQUIRED, ToolCategory.DANGEROUS)
SHORTEST_SECRET = 8

# Without "__" inside or "_" at the end, `<server>__<tool>` can be split in one way only.
_SERVER_NAME = re.compile(r"(?!.*__)[A-Za-z0-9][A-Za-z0-9_-]{0,22}(?<!_)")
# A token of RFC 9110.
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
# Possessive quantifiers: with plain ones, a long value that does not match backtracks for ages.
_HEADER_VALUE = re.compile(r"[!-~]++(?:[ \t]++[!-~]++)*+")
_LOCAL_ONLY = ("env", "cwd")
_WEB_ONLY = ("headers_from_env",)


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """One server and the tools it may offer.

    Attributes:
        command: the program and its arguments; empty for a server on the web.
        env: additional environment variables of the program.
        cwd: the folder it runs in; "" for the game's own.
        url: the address of a server on the web; "" for a program.
        headers: sent with each request to it.
        tools: names of the tools that may be offered; None for all.
        category: the category of its tools, which decides what may follow a call within a tick.
        timeout_seconds: for one call, including a wait for the connection.
        cache_seconds: how long the result of a read-only tool is cached; None: not at all.
        needs_confirmation: a person has to confirm each call.
        may_hear_private: it may be sent what a player told the assistant alone.
        new_tools: tools that the server adds later are offered without a person's consent.
    """

    name: str
    command: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: str = ""
    url: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    tools: frozenset[str] | None = None
    category: ToolCategory = ToolCategory.ASYNC_REQUIRED
    timeout_seconds: float = 30.0
    cache_seconds: float | None = None
    needs_confirmation: bool = False
    may_hear_private: bool = False
    new_tools: bool = False

    def describe(self) -> str:
        """Describe the server for people, without arguments and query, which may hold secrets."""
        if self.command:
            return f"program {self.command[0]}"
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}{parts.path}"

    def without_secrets(self, text: str) -> str:
        """Replace every secret value in a text by stars."""
        header_values = self.headers.values()
        # A header such as `Bearer abc` is also repeated without its first word.
        bare = (value.rpartition(" ")[2] for value in header_values)
        values = {*self.env.values(), *header_values, *bare, urlsplit(self.url).query}
        # The longest first: replacing a shorter one inside it would leave the rest readable.
        for value in sorted(values, key=len, reverse=True):
            # Short values, such as 1 or true, are not secrets, and occur in many texts.
            if len(value) >= SHORTEST_SECRET:
                text = text.replace(value, "***")
        return text


def read_servers(given: object, environ: Mapping[str, str]) -> dict[str, ServerConfig]:
    """Read the setting.

    Args:
        given: the setting's value.
        environ: the environment variables, from which headers are read.

    Raises:
        ConfigurationError: something in it is unknown, missing or of the wrong type.
    """
    if not isinstance(given, Mapping):
        raise ConfigurationError(
            f"{SETTING} is of type {type(given).__name__}; it must be a mapping such as "
            "{'wiki': {'url': 'http://127.0.0.1:9000/mcp'}}"
        )
    return {name: _read_server(name, entry, environ) for name, entry in given.items()}


def _read_server(name: object, entry: object, environ: Mapping[str, str]) -> ServerConfig:
    if not isinstance(name, str) or not _SERVER_NAME.fullmatch(name):
        raise ConfigurationError(
            f"{SETTING} names a server {name!r}; a name is up to 23 letters, digits, hyphens and "
            "single underscores, begins with a letter or digit and does not end in an underscore"
        )
    path = f"{SETTING}[{name!r}]"
    if not isinstance(entry, Mapping):
        raise ConfigurationError(f"{path} is of type {type(entry).__name__}; it must be a mapping")
    is_local = "command" in entry
    # Both or neither.
    if is_local == ("url" in entry):
        raise ConfigurationError(f"{path} must have either a 'command' or a 'url', not both")
    barred = _WEB_ONLY if is_local else _LOCAL_ONLY
    allowed = [key for key in _READERS if key not in (*barred, "url" if is_local else "command")]
    unknown = [key for key in entry if key not in allowed]
    if unknown:
        raise ConfigurationError(
            f"{path} has {', '.join(map(repr, unknown))}; it may have {', '.join(allowed)}"
        )
    fields: dict[str, Any] = {}
    for key, value in entry.items():
        target, reader = _READERS[key]
        fields[target] = reader(f"{path}[{key!r}]", value, environ)
    return ServerConfig(name, **fields)


def _texts(path: str, value: object) -> tuple[str, ...]:
    is_list = isinstance(value, (list, tuple)) and bool(value)
    if not is_list or not all(isinstance(item, str) and item for item in value):  # type: ignore[attr-defined]
        raise ConfigurationError(f"{path} must be a list of one or more texts, none of them empty")
    return tuple(value)  # type: ignore[arg-type]


def _command(path: str, value: object, _environ: object) -> tuple[str, ...]:
    texts = _texts(path, value)
    if any("\0" in text for text in texts):
        raise ConfigurationError(f"{path} holds a zero character, which no program takes")
    return texts


def _tools(path: str, value: object, _environ: object) -> frozenset[str]:
    return frozenset(_texts(path, value))


def _env(path: str, value: object, _environ: object) -> dict[str, str]:
    if not isinstance(value, Mapping) or not all(
        isinstance(text, str) and "\0" not in text for pair in value.items() for text in pair
    ):
        raise ConfigurationError(f"{path} must be a mapping of variable names to texts")
    if any(not name or "=" in name for name in value):
        raise ConfigurationError(f"{path}: a variable's name is not empty and has no '=' in it")
    return dict(value)


def _cwd(path: str, value: object, _environ: object) -> str:
    if isinstance(value, (str, os.PathLike)) and str(value) and "\0" not in str(value):
        return str(value)
    raise ConfigurationError(f"{path} must be the path of a folder")


def _url(path: str, value: object, _environ: object) -> str:
    text = value if isinstance(value, str) and value.isprintable() and " " not in value else ""
    fault = url_fault(text)
    if fault is UrlFault.FORM:
        raise ConfigurationError(f"{path} must be a web address such as http://127.0.0.1:9000/mcp")
    if fault is UrlFault.LOGIN:
        raise ConfigurationError(
            f"{path} holds a user name or a password, which logs would show; "
            "send it as a header by 'headers_from_env'"
        )
    return text


def _headers(path: str, value: object, environ: Mapping[str, str]) -> dict[str, str]:
    if not isinstance(value, Mapping) or not all(
        isinstance(text, str) for pair in value.items() for text in pair
    ):
        raise ConfigurationError(
            f"{path} must map headers to environment variables, as {{'Authorization': 'MY_TOKEN'}}"
        )
    headers = {}
    for header, variable in value.items():
        text = environ.get(variable, "").strip()
        if not _HEADER_NAME.fullmatch(header):
            raise ConfigurationError(f"{path}: {header!r} is not the name of a header")
        if not text:
            raise ConfigurationError(f"{path} needs the environment variable {variable!r}")
        if not _HEADER_VALUE.fullmatch(text):
            raise ConfigurationError(
                f"{path}: the environment variable {variable!r} cannot be sent as a header; "
                "it must be plain ASCII without line breaks"
            )
        headers[header] = text
    return headers


def _category(path: str, value: object, _environ: object) -> ToolCategory:
    if value not in CATEGORIES:
        raise ConfigurationError(f"{path} is {value!r}; it must be {' or '.join(CATEGORIES)}")
    return ToolCategory(str(value))


def _seconds(path: str, value: object, _environ: object) -> float:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not 0 < value < math.inf:  # type: ignore[operator]
        raise ConfigurationError(f"{path} is {value!r}; it must be a number of seconds above 0")
    return float(value)  # type: ignore[arg-type]


def _yes_or_no(path: str, value: object, _environ: object) -> bool:
    if not isinstance(value, bool):
        raise ConfigurationError(f"{path} is {value!r}; it must be True or False")
    return value


# By key of an entry: the field of `ServerConfig`, and the function that reads the value.
_READERS: dict[str, tuple[str, Callable[[str, object, Mapping[str, str]], object]]] = {
    "command": ("command", _command),
    "url": ("url", _url),
    "env": ("env", _env),
    "cwd": ("cwd", _cwd),
    "headers_from_env": ("headers", _headers),
    "tools": ("tools", _tools),
    "category": ("category", _category),
    "timeout_seconds": ("timeout_seconds", _seconds),
    "cache_seconds": ("cache_seconds", _seconds),
    "needs_confirmation": ("needs_confirmation", _yes_or_no),
    "may_hear_private": ("may_hear_private", _yes_or_no),
    "new_tools": ("new_tools", _yes_or_no),
}
