"""The architecture: rooms and floors of the package, and functions that find violations."""

import ast
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PACKAGE = "evennia_ai"
ROOT = Path(__file__).resolve().parents[1]

# Lowest first. A room is a module, or a package with its subpackages. Rooms may be listed before
# they exist.
FLOORS: dict[str, tuple[str, ...]] = {
    "0": ("errors",),
    "1": ("core", "resilience"),
    "2": ("engine", "models"),
    "3": ("audit", "llm", "mcp", "memory_store"),
    "4": ("a2a_client", "workers"),
    "5": ("runtime",),
    "6": ("messages", "prompts"),
    "7": ("budget", "tasks"),
    "8": ("memory",),
    "9": ("tools",),
    "10": ("approvals",),
    "11": ("emergency", "tool_execution"),
    "12": ("agent",),
    "13": ("assistant_account", "assistant_character", "consolidation"),
    "14": ("assistant_script",),
    "15": ("operations",),
    "16": ("api", "apps", "commands", "testing", "web"),
    "17": (PACKAGE,),  # the public names, for games; the package itself does not import them
}
# Django needs these folders at the top level; each belongs to a room.
FOUND_BY_NAME = {"management": "apps", "migrations": "models"}
LEVELS = {room: level for level, rooms in enumerate(FLOORS.values()) for room in rooms}
PURE = ("errors", "core", "resilience", "engine")

# Allowed imports inside functions. All others are at the top, where cycles fail at once.
LOCAL_IMPORTS = {
    "evennia_ai.apps": (
        "evennia_ai.audit",
        "evennia_ai.budget.ledger",
        "evennia_ai.budget.ledger.names",
        "evennia_ai.budget.ledger.place",
        "evennia_ai.memory.arriving",
        "evennia_ai.operations",
        "evennia_ai.operations.naming",
        "evennia_ai.operations.guarding",
        "evennia_ai.operations.monitoring.shared_ledger",
        "evennia_ai.operations.monitoring.database_files",
        "evennia_ai.operations.rights.token_store",
        "evennia_ai.operations.settings.checks",
        "evennia_ai.agent.preparation",
        "evennia_ai.runtime.services",
        "evennia_ai.runtime.signals",
        "evennia_ai.agent.telemetry",
        "evennia_ai.agent.tracing",
        "evennia_ai.models",
    )  # Django's app registry must be ready first
}
OPTIONAL_THIRD_PARTIES = ("mcp", "tiktoken", "xllamacpp")
OUTSIDE = ("benchmarks", "server", "tests", "world")  # not installed with the package

# Smaller modules should be part of a neighbour, unless they have a reason here. Packages
# (`__init__`) need none.
FEW_LINES = 60
SMALL: dict[str, tuple[str, ...]] = {
    "Django, Evennia or a setting finds it by its name": (
        *("api.mcp.service", "api.sessions", "assistant_account", "management.commands.ai_ledger"),
        *("memory_store.qdrant_server", "tools.sleep", "web.site", "web.urls"),
    ),
    "a program, which is run by its path": ("mcp.tether",),
    "a table, each of which says who fills it": (
        *("models.access_token", "models.card_file", "models.question", "models.tool_pin"),
    ),
    "a page, a command, a night's step: one of many alike": (
        *("consolidation.scoring", "web.pages.live", "web.pages.questions"),
    ),
    "rooms or packages that must not know each other share it": (
        *("core.hearing.staleness", "core.text.web_addresses", "core.keys"),
        "models.containing",
        *("runtime.ability", "runtime.assistant", "runtime.fence", "runtime.tagged"),
    ),
    "the one that touches a database, a disk or the system, beside those that do not": (
        *("api.a2a.deliveries", "budget.ledger.processes", "llm.local.logfile", "mcp.pin_store"),
        "operations.monitoring.database_files",
    ),
    "a noun of its own, for two who need not know each other": (
        *(
            "memory.saving",
            "memory.notebook",
            "memory.projects",
            "messages.thinking",
        ),
    ),
}

UNPLACED = "a new room is placed on a floor before it is furnished"


@dataclass(frozen=True)
class Import:
    """One import of a module.

    Attributes:
        target: dotted name of the imported module.
        is_local: whether it is inside a function.
    """

    target: str
    is_local: bool
    line: int


def read_package(root: Path = ROOT) -> dict[str, str]:
    """Return the source of every module of the package, by dotted name."""
    sources = {}
    for path in sorted((root / PACKAGE).rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        sources[name] = path.read_text(encoding="utf-8")
    return sources


def room_of(module: str) -> str:
    """Return the room of a module."""
    parts = module.split(".")
    name = parts[1] if len(parts) > 1 else PACKAGE
    return FOUND_BY_NAME.get(name, name)


def find_imports(source: str, modules: Mapping[str, str]) -> Iterator[Import]:
    """Return every import of a source; `from package import module` counts as one of the module."""
    for node, is_local in _import_statements(source):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        else:
            base = "." * node.level + (node.module or "")
            names = [f"{base}.{alias.name}" for alias in node.names]
            targets = [name if name in modules else base for name in names]
        yield from (Import(target, is_local, node.lineno) for target in targets)


parse = cache(ast.parse)  # of one source, for all rules


@cache
def _import_statements(source: str) -> tuple[tuple[ast.Import | ast.ImportFrom, bool], ...]:
    """Yield the import statements of a source, and whether each is inside a function."""
    imports, waiting = [], [(parse(source), False)]
    functions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    while waiting:
        node, is_local = waiting.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            imports.append((node, is_local))
        is_local = is_local or isinstance(node, functions)
        waiting.extend((child, is_local) for child in ast.iter_child_nodes(node))
    return tuple(sorted(imports, key=lambda each: each[0].lineno))


def _is_ours(target: str) -> bool:
    return target.split(".")[0] == PACKAGE


def _is_below(other: str, room: str) -> bool:
    return other == room or LEVELS.get(other, 0) < LEVELS.get(room, 0)


def find_unplaced(modules: Mapping[str, str]) -> list[str]:
    """Return rooms that are on no floor."""
    rooms = {room_of(module) for module in modules}
    return [f"{room}: {UNPLACED}" for room in sorted(rooms - set(LEVELS))]


def find_small(sources: Mapping[str, str], packages: Collection[str]) -> list[str]:
    """Return small modules without a reason, and reasons that are no longer needed."""
    small = {
        module.removeprefix(f"{PACKAGE}.")
        for module, source in sources.items()
        if len(source.splitlines()) < FEW_LINES
        and module not in packages
        and ".migrations." not in module
    }
    given = [name for names in SMALL.values() for name in names]
    return [
        *(f"{name} is small: put it into its neighbour" for name in sorted(small - set(given))),
        *(f"{name} is not small, or not there" for name in sorted(set(given) - small)),
    ]


def find_climbs(modules: Mapping[str, str]) -> list[str]:
    """Return imports that do not go to a strictly lower floor, except inside one room."""
    problems = []
    for module, source in modules.items():
        room = room_of(module)
        for item in find_imports(source, modules):
            if item.target.startswith("."):
                problems.append(f"{module}:{item.line} has a relative import; write the whole name")
            elif _is_ours(item.target) and not _is_below(room_of(item.target), room):
                problems.append(f"{module}:{item.line} imports {item.target}, not a lower floor")
    return problems


def find_local_imports(modules: Mapping[str, str]) -> list[str]:
    """Return imports inside functions that LOCAL_IMPORTS does not allow."""
    return [
        f"{module}:{item.line} imports {item.target} inside a function"
        for module, source in modules.items()
        for item in find_imports(source, modules)
        if item.is_local
        and item.target not in LOCAL_IMPORTS.get(module, ())
        and item.target.split(".")[0] not in OPTIONAL_THIRD_PARTIES
    ]


def find_ways_out(modules: Mapping[str, str]) -> list[str]:
    """Return imports of code that is in the repository but not in the package."""
    return [
        f"{module}:{item.line} imports {item.target}, which is not installed with it"
        for module, source in modules.items()
        for item in find_imports(source, modules)
        if item.target.split(".")[0] in OUTSIDE
    ]


def find_cycles(modules: Mapping[str, str]) -> list[str]:
    """Return modules that import themselves through others, within one room."""
    below = {
        module: {item.target for item in find_imports(source, modules) if item.target in modules}
        for module, source in modules.items()
    }
    reached = {module: set(targets) for module, targets in below.items()}
    known = 0
    while known != (known := sum(map(len, reached.values()))):
        for targets in reached.values():
            targets |= {further for target in targets for further in below[target]}
    return [f"{module} imports itself" for module in modules if module in reached[module]]
