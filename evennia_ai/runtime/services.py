"""The services of the process, built from the game's settings: models, connections, memory.

Whatever reads a setting raises ConfigurationError if it is wrong, or needs a missing package.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

from django.conf import settings
from evennia.utils import logger
from pydantic import TypeAdapter
from twisted.internet import reactor
from twisted.internet.defer import Deferred

from evennia_ai.a2a_client.agents import RemoteSpecialists
from evennia_ai.core.hearing.calling import MOST_ANSWERS
from evennia_ai.core.settings.game import GAME_SETTINGS
from evennia_ai.core.settings.model import Flag, read_value
from evennia_ai.core.settings.remote import SETTING as REMOTE_SPECIALISTS
from evennia_ai.core.settings.remote import Remote, read_remotes
from evennia_ai.core.settings.services import (
    A2aConfig,
    BreakerConfig,
    McpServerConfig,
    WorkersConfig,
)
from evennia_ai.errors import ConfigurationError
from evennia_ai.llm import endpoints
from evennia_ai.llm.bridge import Pacer, as_deferred, pacer_of
from evennia_ai.llm.endpoints import Endpoint
from evennia_ai.llm.fallback_models import NAME as FALLBACK_MODELS
from evennia_ai.llm.fallback_models import distinct, read_fallbacks, read_own_fallbacks
from evennia_ai.llm.local_transport import places_of_game
from evennia_ai.llm.pool import Pool, PoolConfig
from evennia_ai.llm.replicas import NAME as REPLICAS
from evennia_ai.llm.replicas import with_replicas
from evennia_ai.mcp.config import ServerConfig, read_servers
from evennia_ai.mcp.connection import require_sdk
from evennia_ai.mcp.pin_store import StoredPins
from evennia_ai.mcp.servers import RemoteServers
from evennia_ai.memory_store import opening
from evennia_ai.memory_store.opening import MemorySettings
from evennia_ai.memory_store.service import MemoryService
from evennia_ai.workers import bell
from evennia_ai.workers.here import Here
from evennia_ai.workers.kinds import key_mark
from evennia_ai.workers.port import BackgroundWork
from evennia_ai.workers.queued import Queued

T = TypeVar("T")
FLAG: TypeAdapter[bool] = TypeAdapter(Flag)


def close_at_the_end(close: Callable[[], Deferred[object]]) -> None:
    """Start closing something when the reactor stops, without delaying the stop."""

    # Not waited for: the portal starts the next server as soon as this one disconnects, and that
    # server gives up if it finds this one's pid file, which goes when the reactor has stopped.
    def begin() -> None:  # returns no Deferred, or the reactor would wait for it
        close().addErrback(lambda failure: logger.log_warn(f"[assistant] closing: {failure.value}"))

    reactor.addSystemEventTrigger("before", "shutdown", begin)


def _value(name: str) -> Any:
    return getattr(settings, name, GAME_SETTINGS[name].default)


def _read(name: str, kind: TypeAdapter[T]) -> T:
    return read_value(kind, name, _value(name))


def _number(name: str) -> float:
    """A positive finite number from the environment or the settings."""
    value = os.environ.get(name) or _value(name)
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    # `float(True)` is 1.0, which nobody means.
    if isinstance(value, bool) or not math.isfinite(number) or number <= 0:
        raise ConfigurationError(f"{name} is {value!r}; it must be a number above 0")
    return number


def _whole_number(name: str) -> int:
    """A whole number from 1 up."""
    number = _number(name)
    if number < 1 or number != int(number):
        raise ConfigurationError(f"{name} is {number:g}; it must be a whole number from 1 up")
    return int(number)


def pacer() -> Pacer:
    """The process's queue for beats and for results of models."""
    return pacer_of(reactor)


@lru_cache(maxsize=1)
def pool() -> Pool:
    """The process's pool of model connections."""
    state_dir, pid_file = places_of_game()
    new_pool = Pool(
        PoolConfig(
            state_dir=state_dir,
            pid_file=pid_file,
            deadline_seconds=_number("EVENNIA_AI_CALL_DEADLINE_SECONDS"),
            max_calls_in_flight=_whole_number("EVENNIA_AI_MAX_CALLS_IN_FLIGHT"),
            most_reply_bytes=reply_bytes(),
            app_name=settings.SERVERNAME,
            breaker=BreakerConfig.from_settings(settings),
        ),
        reactor=reactor,
    )
    close_at_the_end(new_pool.close)
    return new_pool


def endpoint() -> Endpoint:
    """The model that answers unless an assistant names its own."""
    resolved = endpoints.resolve(os.environ, settings)
    replicas = _value(REPLICAS)
    return with_replicas(resolved, replicas, os.environ, settings) if replicas != () else resolved


def fallbacks(
    own: object = (), first: Endpoint | None = None, game: Endpoint | None = None
) -> tuple[Endpoint, ...]:
    """The models to ask, in order, where the first fails: an assistant's own or the game's.

    Args:
        own: the assistant's list of names; empty for none.
        first: the assistant's own model; None: the game's.
        game: the game's model, where the caller has it already.
    """
    game = game or endpoint()
    if own:
        return read_own_fallbacks(own, first or game)
    fallback_endpoints = read_fallbacks(_value(FALLBACK_MODELS), game, os.environ, settings)
    return distinct(fallback_endpoints, first or game)


def tool_modules() -> tuple[str, ...]:
    """The names of the modules that define the game's tools."""
    modules = getattr(settings, "EVENNIA_AI_TOOL_MODULES", ())
    # Not any sequence: a single string would count as a list of its characters.
    if isinstance(modules, (list, tuple)) and all(isinstance(name, str) for name in modules):
        return tuple(modules)
    raise ConfigurationError(
        f"EVENNIA_AI_TOOL_MODULES is {modules!r}; it must be a list such as ['world.tools']"
    )


def most_tools() -> int:
    """The most tools that a model is shown at once; it finds others with `find_tools`."""
    return _whole_number("EVENNIA_AI_MAX_TOOLS_OFFERED")


def tools_by_need() -> bool:
    """True where a model is shown tools as messages call for them, not always all of them."""
    return _read("EVENNIA_AI_TOOLS_BY_NEED", FLAG)


def answers_per_line() -> int:
    """The most assistants that answer a line addressed to nobody; 0: all that hear it."""
    return _read("EVENNIA_AI_ANSWERS_PER_LINE", MOST_ANSWERS)


def mcp_server_config() -> McpServerConfig:
    """The settings of the MCP server for staff."""
    config = McpServerConfig.from_settings(settings)
    if config.port:
        require_sdk(f"{config.NAME} names a port")
    return config


def a2a_config() -> A2aConfig:
    """The settings of the A2A server for agents outside the game."""
    config = A2aConfig.from_settings(settings)
    if config.port and find_spec("a2a") is None:
        raise ConfigurationError(
            f"{config.NAME} names a port, but the package a2a-sdk is not installed; "
            "install it with: pip install 'evennia-ai[a2a]'"
        )
    return config


def mcp_configs() -> dict[str, ServerConfig]:
    """The MCP servers that the game uses."""
    configs = read_servers(getattr(settings, "EVENNIA_AI_MCP_SERVERS", {}), os.environ)
    if configs:
        require_sdk()
    return configs


Remotes = TypeVar("Remotes", RemoteServers, RemoteSpecialists)


def _connect_remotes(
    kind: Callable[..., Remotes], read: Callable[[], Mapping[str, object]]
) -> Remotes:
    """Connect to the agents or servers in the settings; to none where these are wrong."""
    try:
        configs = read()
    except ConfigurationError as error:  # `evennia check` reports it too; the game must start
        logger.log_err(f"[assistant] {error}")
        configs = {}
    connected = kind(
        configs.values(),
        as_deferred=as_deferred,
        reactor=reactor,
        breakers=pool().breakers,
        log=logger.log_info,
        pins=StoredPins(),
    )
    connected.start()
    return connected


@lru_cache(maxsize=1)
def remote_servers() -> RemoteServers:
    """The game's MCP servers; the first call starts connecting in the background."""
    servers = _connect_remotes(RemoteServers, mcp_configs)
    close_at_the_end(servers.close)
    return servers


def remote_configs() -> dict[str, Remote]:
    """The agents outside the game that assistants may delegate to."""
    return read_remotes(getattr(settings, REMOTE_SPECIALISTS, {}), os.environ)


@lru_cache(maxsize=1)
def remote_specialists() -> RemoteSpecialists:
    """The agents outside the game; the first call starts fetching their cards in the background."""
    return _connect_remotes(RemoteSpecialists, remote_configs)


def leave_remote_servers() -> None:
    """Start ending the MCP servers' programs, because the game's server is about to end.

    Evennia runs the reactor for one more second; whatever is left then ends with the process.
    """
    # Asking for servers that nobody has used would start connecting to them.
    if remote_servers.cache_info().currsize:
        remote_servers().close().addErrback(lambda _: None)


def memory_settings() -> MemorySettings:
    """The settings of the vector store of memories."""
    folder = Path(settings.GAME_DIR) / "server" / "ai_memory"
    default = str(GAME_SETTINGS[opening.STORE].default)
    return opening.read_settings(os.environ, settings, folder, default)


@lru_cache(maxsize=1)
def memory() -> MemoryService:
    """The game's memory service; its store opens at the first use."""
    try:
        service = opening.make_service(memory_settings(), reactor)
    except ConfigurationError as error:  # `evennia check` reports it too; the game must start
        logger.log_err(f"[assistant] {error}")
        service = opening.absent_service(str(error), reactor)
    close_at_the_end(service.close)
    return service


def workers_config() -> WorkersConfig:
    """The settings of the workers."""
    config = WorkersConfig.from_settings(settings)
    if config.engine and (obstacle := bell.obstacle_of_setting()):
        raise ConfigurationError(f"{WorkersConfig.NAME} sets {config.engine!r}, but {obstacle}")
    return config


@lru_cache(maxsize=1)
def work() -> BackgroundWork:
    """The place where background work is done: in this process, or by workers."""
    try:
        config = workers_config()
    except ConfigurationError as error:  # `evennia check` reports it too; the game must start
        logger.log_err(f"[assistant] {error}")
        return Here(memory, str(error))
    if not config.engine:
        return Here(memory)
    queued = Queued(config, memory, reactor)
    close_at_the_end(queued.close)
    return queued


def model_keys() -> dict[tuple[str, str], str]:
    """The API keys that a worker may send, by address and mark of the key."""
    known = [place for model in (endpoint(), *fallbacks()) for place in model.each if place.api_key]
    return {(place.base_url, key_mark(place.api_key)): place.api_key for place in known}


def reply_bytes() -> int:
    """The most bytes of a model's reply that are read."""
    return _whole_number("EVENNIA_AI_MAX_REPLY_BYTES")


def check_settings() -> str:
    """Read every setting that can be wrong, once.

    Returns:
        What the owner should know although it is not a mistake, or "".

    Raises:
        ConfigurationError: something is wrong.
    """
    _number("EVENNIA_AI_CALL_DEADLINE_SECONDS")
    _whole_number("EVENNIA_AI_MAX_CALLS_IN_FLIGHT")
    reply_bytes()
    BreakerConfig.from_settings(settings)
    fallbacks()
    tool_modules()
    most_tools()
    tools_by_need()
    answers_per_line()
    mcp_configs()
    mcp_server_config()
    a2a_config()
    remote_configs()
    workers_config()
    notices = endpoint().notice, memory_settings().notice
    return " ".join(filter(None, notices))
