"""The state of all that assistants depend on: models, stores, MCP servers, versions.

Each is a row in words: its state, and what to do where something is wrong. Nothing is asked over
the network here; `models.choosing.check_model` does that.
"""

from __future__ import annotations

import platform
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated

from django.conf import settings
from django.db import connection
from typing_extensions import TypedDict

from evennia_ai.audit import archive
from evennia_ai.core.text.words import counted
from evennia_ai.errors import ConfigurationError
from evennia_ai.models import missing_tables
from evennia_ai.operations.memory.upkeep import FAILED, NO_STORE, OFF, condition_of
from evennia_ai.operations.monitoring import capacity, database_files, shared_ledger
from evennia_ai.operations.monitoring import health as monitoring
from evennia_ai.operations.monitoring.capacity import all_uses
from evennia_ai.operations.naming import list_assistants
from evennia_ai.operations.result import Result, note, one_of
from evennia_ai.operations.settings.checks import broken_modules
from evennia_ai.operations.times import as_shown
from evennia_ai.resilience import CircuitBreakerState
from evennia_ai.runtime import services

GOOD, QUIET, BAD = "good", "quiet", "bad"  # `quiet`: switched off on purpose
LEVELS = (GOOD, QUIET, BAD)
MOST_ARCHIVES = 10
# Those whose versions matter in a bug report; the last three are optional.
PACKAGES = ("evennia-ai", "evennia", "django", "mem0ai", "mcp", "xllamacpp")
_MEGABYTE = 1_000_000


class Part(TypedDict):
    """One thing that assistants depend on, and its state."""

    name: str
    level: Annotated[str, one_of(LEVELS, "Level; `quiet`: switched off by a setting.")]
    told: Annotated[str, note("Its state in words.")]
    advice: Annotated[str, note("What to do about it, or empty.")]


class ArchiveRow(TypedDict):
    """A file with an archived part of an audit log."""

    name: str
    at: Annotated[str, note("Time at which it was written, in the game's time zone.")]
    bytes: int


class Installed(TypedDict):
    """A package, or Python itself."""

    name: str
    version: Annotated[str, note("Version; empty if it is not installed.")]


@dataclass(frozen=True, slots=True)
class Equipment:
    """The state of all that assistants depend on."""

    parts: list[Part]
    archives: Annotated[list[ArchiveRow], note("The newest first.")]
    versions: list[Installed]


def equipment() -> Result[Equipment]:
    """Report the present state of all that the game's assistants depend on."""
    stores = [*_memory(), *_workers(), *_database(), *_ledger()]
    parts = [*_models(), *stores, *_tools(), *_servers(), *_agents()]
    unwell = [part["name"] for part in parts if part["level"] == BAD]
    message = f"Not well: {', '.join(unwell)}." if unwell else "All is well."
    return Result(True, message, Equipment(parts, _archives(), _versions()))


def _part(name: str, level: str, text: str, advice: str = "") -> Part:
    return {"name": name, "level": level, "told": text, "advice": advice}


# ---- models ------------------------------------------------------------------------------------


def _models() -> Iterator[Part]:
    # The game's model, its fallback models, and the models that assistants have of their own.
    advice = "Correct that in server/conf/settings.py or secret_settings.py, then: evennia reload"
    try:
        game = services.endpoint()
        yield _part("The game's model", GOOD, game.describe(), game.notice)
        yield from _endpoints()
    except ConfigurationError as error:
        game = None
        yield _part("The game's model", BAD, f"It is not set up: {error}.", advice)
    try:
        for place, each in enumerate(services.fallbacks() if game is not None else (), 1):
            yield _part(f"Stand-in {place}", GOOD, each.describe())
    except ConfigurationError as error:
        yield _part("Stand-ins", BAD, f"They are not set up: {error}.", advice)
    for script in list_assistants():
        try:
            own = script.endpoint()
        except ConfigurationError as error:
            advice = f"assistant config {script.key} set llm_model <name>, or unset it"
            yield _part(f"The model of {script.key}", BAD, f"{error}.", advice)
            continue
        if own != game:
            yield _part(f"The model of {script.key}", GOOD, own.describe())


def _endpoints() -> Iterator[Part]:
    for use in all_uses():
        is_asked = use.state == CircuitBreakerState.CLOSED
        text = use.describe() if is_asked else f"Its breaker is {use.state}: {use.describe()}"
        advice = "" if is_asked else "The others are used meanwhile; it is retried automatically."
        yield _part(f"Endpoint {use.base_url}", GOOD if is_asked else BAD, text, advice)


# ---- stores ------------------------------------------------------------------------------------


def _memory() -> Iterator[Part]:
    memory = services.memory()
    now, status = condition_of(*monitoring.running()), memory.status()
    if now.state == OFF:
        yield _part(
            "Memory store", QUIET, "It is off: memories are found only by their words.", NO_STORE
        )
        return
    model, waiting = status["embeddings"] or "nothing yet", counted(status["waiting"], "requests")
    text = f"{status['store']}, indexed by {model}; {waiting} waiting."
    if now.state == FAILED:
        advice = "Until it is fixed, memories are kept but cannot be found by meaning."
        yield _part("Memory store", BAD, f"{text} {now.problem}", advice)
    else:
        yield _part("Memory store", GOOD, text, memory.notice)


def _workers() -> Iterator[Part]:
    # Most games have no workers, and need no row that says so.
    row = capacity.workers_row()
    if row["state"] == capacity.OFF:
        return
    text = capacity.in_words({**row, "problem": ""})
    level = BAD if row["state"] == capacity.FAILED else GOOD
    yield _part("Workers", level, f"{text}.", row["problem"])


def _database() -> Iterator[Part]:
    vendor, health = connection.vendor, monitoring.health().data
    files = database_files.database_files()
    size = sum(path.stat().st_size for path in files if path.is_file())
    text = f"{vendor}, {size / _MEGABYTE:,.1f} MB" if files else vendor
    # First, since the queries below would fail on a database that does not answer.
    if health.database == FAILED:
        yield _part("Database", BAD, f"{text}: it does not answer.", "See the server's log.")
        return
    if missing := missing_tables():
        text = f"{text}: it has no tables {', '.join(missing)}."
        yield _part("Database", BAD, text, "Type: evennia migrate")
    elif health.database != monitoring.OK:
        yield _part("Database", BAD, f"{text}: it is slow.", "See if its disk is full or busy.")
    else:
        yield _part("Database", GOOD, text)
    for path in database_files.readable_by_others():
        # Without its folder: this is shown on web pages.
        name = Path(path).name
        text = f"Other users of the machine may read {name}; passwords are in it."
        yield _part("Database file", BAD, text, f"Type where it is: chmod 600 {name}")


def _ledger() -> Iterator[Part]:
    # Only where several games share a ledger.
    if (condition := shared_ledger.condition()) is not None:
        text, trouble = condition
        yield _part("Shared ledger", BAD if trouble else GOOD, text, trouble)


def _tools() -> Iterator[Part]:
    for problem in broken_modules():
        yield _part("Tools of the game", BAD, problem)


def _servers() -> Iterator[Part]:
    try:
        statuses = services.remote_servers().status()
    except ConfigurationError as error:
        yield _part("MCP servers", BAD, f"{error}.", "See EVENNIA_AI_MCP_SERVERS in docs/mcp.md")
        return
    for each in statuses:
        level = GOOD if each["state"] == "connected" and not each["problem"] else BAD
        text = f"{each['state']}, {counted(each['tools'], 'tools')}; breaker {each['breaker']}"
        if each["left_out"]:
            text += f"; left out: {', '.join(each['left_out'])}"
        advice = "" if level == GOOD else "It is retried automatically."
        yield _part(
            f"MCP server {each['name']}", level, f"{text}. {each['problem']}".strip(), advice
        )


def _agents() -> Iterator[Part]:
    for each in services.remote_specialists().status():
        is_good = each["state"] in ("ready", "not known yet") and each["breaker"] == "closed"
        text = f"{each['state']}; breaker {each['breaker']}. {each['problem']}".strip()
        advice = "See: assistant tools held" if each["state"] == "held" else ""
        yield _part(f"Remote specialist {each['name']}", GOOD if is_good else BAD, text, advice)


# ---- files and packages ------------------------------------------------------------------------


def _archives() -> list[ArchiveRow]:
    try:
        folder = archive.folder_of(archive.policy())
        files = [(path.stat(), path.name) for path in folder.glob("*.jsonl*") if path.is_file()]
    except (ConfigurationError, OSError):
        return []
    files.sort(key=lambda each: -each[0].st_mtime)
    return [
        {"name": name, "at": as_shown(stat.st_mtime), "bytes": stat.st_size}
        for stat, name in files[:MOST_ARCHIVES]
    ]


def _versions() -> list[Installed]:
    installed: list[Installed] = [{"name": "Python", "version": platform.python_version()}]
    for name in PACKAGES:
        try:
            installed.append({"name": name, "version": version(name)})
        except PackageNotFoundError:
            installed.append({"name": name, "version": ""})
    engine = settings.DATABASES["default"]["ENGINE"].rpartition(".")[2]
    return [
        *installed,
        {"name": engine, "version": ".".join(map(str, connection.get_database_version()))},
    ]
