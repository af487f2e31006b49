"""Settings of remote agents (A2A) that assistants may give tasks to."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Self
from urllib.parse import urlsplit

from pydantic import Field, model_validator

from evennia_ai.core.safety.addresses import read_networks
from evennia_ai.core.settings.model import (
    Amount,
    Count,
    Flag,
    LenientGroup,
    Limit,
    Line,
    MismatchError,
    Text,
    setting,
)
from evennia_ai.core.text.web_addresses import UrlFault, url_fault
from evennia_ai.errors import ConfigurationError

SETTING = "EVENNIA_AI_REMOTE_SPECIALISTS"
ALL = "*"
# The default of most_tokens: a multiple of `tokens`, and at least so many.
TIMES_HELD, LEAST_BELIEVED = 10, 10_000
SHORTEST_SECRET = 8  # masking a shorter one would turn ordinary words into stars
EXAMPLE = "{'atlas': {'card': 'https://maps.example', 'assistants': ['Ada']}}"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}")
# Characters that may be sent as a bearer token.
_SENDABLE_TOKEN = re.compile(r"[!-~]{1,4000}")
CARD_PATH = "/.well-known/agent-card.json"
NO_URL = "the address of an agent or of its card, such as 'https://maps.example/a2a/atlas'"
LOGIN = "an address without a user name and password; a token is sent with 'token_env'"


class RemoteConfig(LenientGroup):
    """The settings of one agent in EVENNIA_AI_REMOTE_SPECIALISTS."""

    NAME: ClassVar[str] = SETTING

    card: Text = setting(
        "",
        "the address of the agent or of its card: one that ends in .json is the card's own; "
        f"`{CARD_PATH}` is added to any other.",
        example="https://maps.example/a2a/atlas",
    )
    assistants: tuple[Line, ...] = setting(
        (), "names of the assistants that may give it tasks; `*`: all."
    )
    token_env: Text = setting("", "environment variable that holds its token; empty: none is sent.")
    seconds: Annotated[Amount, Field(ge=1, le=3600)] = setting(
        60.0, "seconds to wait for its answer; then its task is cancelled."
    )
    cost: Annotated[Amount, Field(le=10_000)] = setting(
        0.0, "cost of a task in US dollars, counted like that of a model."
    )
    tokens: Annotated[Count, Field(le=10_000_000)] = setting(
        4000,
        "tokens reserved for a task while it is running, and counted for it if the "
        "agent does not report its use.",
    )
    most_tokens: Annotated[Count, Field(le=10_000_000)] = setting(
        0,
        "maximum tokens counted for a task, whatever the agent reports; 0: ten times "
        "`tokens`, at least 10,000.",
    )
    tasks_per_day: Limit = setting(100, "tasks that it gets per day (UTC); 0: no limit.")
    pause_seconds: Annotated[Amount, Field(ge=1, le=86_400)] = setting(
        60.0, "seconds for which it gets no tasks after three failures; then one task tries it."
    )
    private: Flag = setting(
        False,
        "whether it may get private words, and words of people about whom nothing may be stored.",
    )
    networks: tuple[Text, ...] = setting(
        (), "private networks in which it may be, such as `10.0.0.0/8`; empty: none."
    )

    @model_validator(mode="after")
    def _fit_together(self) -> Self:
        fault = url_fault(self.card)
        if fault is not None or not self.card.isprintable() or " " in self.card:
            shown = "***" if fault is UrlFault.LOGIN else self.card
            raise MismatchError("card", shown, LOGIN if fault is UrlFault.LOGIN else NO_URL)
        if not self.assistants:
            raise MismatchError("assistants", [], f"names of assistants, or ['{ALL}'] for all")
        if 0 < self.most_tokens < self.tokens:
            raise MismatchError("most_tokens", self.most_tokens, f"0, or {self.tokens} at least")
        return self

    @property
    def believed(self) -> int:
        """The most tokens of a task that an agent's report is believed for."""
        return self.most_tokens or max(TIMES_HELD * self.tokens, LEAST_BELIEVED)


@dataclass(frozen=True, slots=True)
class Remote:
    """A remote agent.

    Attributes:
        token: bearer token to send, or "".
    """

    name: str
    config: RemoteConfig
    token: str = field(default="", repr=False)

    @property
    def card_url(self) -> str:
        """The address of its agent card."""
        url = self.config.card
        return url if url.endswith(".json") else url.rstrip("/") + CARD_PATH

    @property
    def where(self) -> str:
        """The address of its card for people, without the query string."""
        # A query may hold credentials.
        parts = urlsplit(self.card_url)
        return f"{parts.scheme}://{parts.netloc}{parts.path}"

    def serves(self, assistant: str) -> bool:
        """True if the assistant of that name may give it tasks."""
        names = {name.casefold() for name in self.config.assistants}
        return ALL in names or assistant.casefold() in names

    def without_token(self, text: str) -> str:
        """A text with its token replaced by stars."""
        return text.replace(self.token, "***") if len(self.token) >= SHORTEST_SECRET else text


def read_remotes(given: object, environ: Mapping[str, str]) -> dict[str, Remote]:
    """Parse the setting; the result is keyed by names in lower case.

    Args:
        given: value of the setting.
        environ: environment variables, which hold the tokens.

    Raises:
        ConfigurationError: a key is unknown, missing or of the wrong type.
    """
    if not isinstance(given, Mapping):
        raise ConfigurationError(
            f"{SETTING} is of type {type(given).__name__}; it must be a mapping such as {EXAMPLE}"
        )
    remotes: dict[str, Remote] = {}
    for name, entry in given.items():
        remote = _read(name, entry, environ)
        if remote.name.casefold() in remotes:
            raise ConfigurationError(
                f"{SETTING} names {name!r} twice, but for small and capital letters; each agent "
                "needs a name of its own"
            )
        remotes[remote.name.casefold()] = remote
    return remotes


def _read(name: object, entry: object, environ: Mapping[str, str]) -> Remote:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ConfigurationError(
            f"{SETTING} names an agent {name!r}; a name is a letter and up to 39 more letters, "
            "digits, hyphens and underscores"
        )
    path = f"{SETTING}[{name!r}]"
    config = RemoteConfig.from_stored(entry, path)
    read_networks(f"{path}.networks", config.networks)
    return Remote(name, config, _token_from(path, config.token_env, environ))


def _token_from(path: str, variable: str, environ: Mapping[str, str]) -> str:
    if not variable:
        return ""
    token = environ.get(variable, "").strip()
    if not token:
        raise ConfigurationError(
            f"{path}.token_env is {variable!r}, but there is no such environment variable, or "
            "nothing in it; the game's processes need it"
        )
    if not _SENDABLE_TOKEN.fullmatch(token):
        raise ConfigurationError(
            f"{path}.token_env is {variable!r}; what that variable holds cannot be sent as a "
            "token: it must be plain ASCII without blanks"
        )
    return token
