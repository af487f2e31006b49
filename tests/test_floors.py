"""The architecture's rules: floors, sizes, docstrings. The plan is in `floors`."""

import ast
import configparser
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

import pytest

from tests import floors

MODULES = floors.read_package()
MOST_MODULE_LINES = 400
MOST_FUNCTION_LINES = 45
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# Class names that a library prescribes, so that several classes have them.
LOOKED_UP = {
    "Audited.Event": "eventsourcing: what all events of an aggregate are",
    "Command": "Django: a command of manage.py",
    "Created": "eventsourcing: the first event of an aggregate",
    "Meta": "Django: more about a model",
    "Migration": "Django: a change of the tables",
}
MOST_ANY = 0.02
ASKING = ("What", "Whether", "Who", "Whom", "Whose", "How", "Which", "Where", "When")
PARTICIPLES = {"found", "kept", "made", "said", "told"}

Finder = Callable[[Mapping[str, str]], list[str]]
RULES = [
    pytest.param(floors.find_unplaced, id="every room has a floor"),
    pytest.param(floors.find_climbs, id="imports go down"),
    pytest.param(floors.find_local_imports, id="imports stand at the top"),
    pytest.param(floors.find_ways_out, id="the package stands alone"),
    pytest.param(floors.find_cycles, id="no cycle inside a room"),
]


@pytest.mark.parametrize("find", RULES)
def test_the_house_keeps_its_plan(find: Finder) -> None:
    assert [] == find(MODULES)


HOUSE = {
    "evennia_ai": "",
    "evennia_ai.core": "",
    "evennia_ai.core.text": "import json",
    "evennia_ai.engine": "from evennia_ai.core import text",
    "evennia_ai.runtime": "from evennia_ai.core.text import quote",
    "evennia_ai.messages": "from evennia_ai import runtime",
}


@pytest.mark.parametrize("find", RULES)
def test_a_house_in_order(find: Finder) -> None:
    """The rules find nothing in a package that keeps them."""
    assert [] == find(HOUSE)


@pytest.mark.parametrize(
    ("complaint", "find", "module", "source"),
    [
        pytest.param(
            "attic: a new room is placed on a floor before it is furnished",
            floors.find_unplaced, "attic", "", id="an unplaced room",
        ),
        pytest.param(
            "evennia_ai.core.extra:1 imports evennia_ai.engine, not a lower floor",
            floors.find_climbs, "core.extra", "import evennia_ai.engine", id="upward",
        ),
        pytest.param(
            "evennia_ai.prompts:2 imports evennia_ai.messages, not a lower floor",
            floors.find_climbs, "prompts", "\nfrom evennia_ai import messages", id="a neighbour",
        ),
        pytest.param(
            "evennia_ai.messages:1 imports evennia_ai, not a lower floor",
            floors.find_climbs, "messages", "from evennia_ai import tool", id="by the front door",
        ),
        pytest.param(
            "evennia_ai.tools:1 has a relative import; write the whole name",
            floors.find_climbs, "tools", "from .. import state", id="relative",
        ),
        pytest.param(
            "evennia_ai.engine.extra:3 imports evennia_ai.core.text inside a function",
            floors.find_local_imports, "engine.extra",
            "class A:\n  async def f(self):\n    from evennia_ai.core import text",
            id="inside a function",
        ),
        pytest.param(
            "evennia_ai.apps:1 imports django inside a function",
            floors.find_local_imports, "apps", "def f(): import django", id="not in the table",
        ),
        pytest.param(
            "evennia_ai.operations:1 imports world.build, which is not installed with it",
            floors.find_ways_out, "operations", "import world.build", id="out of the package",
        ),
        pytest.param(
            "evennia_ai.core.one imports itself",
            floors.find_cycles, "core.one", "import evennia_ai.core.one", id="a cycle",
        ),
    ],
)  # fmt: skip
def test_each_rule_bites(complaint: str, find: Finder, module: str, source: str) -> None:
    assert [complaint] == find({**HOUSE, f"evennia_ai.{module}": source})


def test_a_cycle_by_way_of_others_is_found() -> None:
    ring = {f"evennia_ai.core.m{n}": f"import evennia_ai.core.m{n + 1}" for n in range(6)}
    assert [] == floors.find_cycles({**ring, "evennia_ai.core.m6": ""})
    closed = {**ring, "evennia_ai.core.m6": "import evennia_ai.core.m0"}
    assert [f"{name} imports itself" for name in closed] == floors.find_cycles(closed)


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("def f(): import xllamacpp", id="an optional third party"),
        pytest.param("def f(): from evennia_ai.runtime import services", id="the app registry"),
    ],
)
def test_what_may_be_imported_late(source: str) -> None:
    house = {"evennia_ai.apps": source, "evennia_ai.runtime.services": ""}
    assert [] == floors.find_local_imports(house)


def test_every_room_has_one_place() -> None:
    rooms = [room for rooms in floors.FLOORS.values() for room in rooms]
    assert sorted(set(rooms)) == sorted(rooms)


def test_a_small_module_has_a_reason() -> None:
    packages = {name.rpartition(".")[0] for name in MODULES}
    assert [] == floors.find_small(MODULES, packages)
    alone = f"{floors.PACKAGE}.core.text.alone"
    complaint = "core.text.alone is small: put it into its neighbour"
    assert [complaint] == floors.find_small({**MODULES, alone: "import json"}, packages)


def test_import_linter_has_the_same_plan() -> None:
    """import-linter reads the floors from setup.cfg."""
    config = configparser.ConfigParser()
    config.read(floors.ROOT / "setup.cfg", encoding="utf-8")
    lines = config["importlinter:contract:floors"]["layers"].split("\n")
    layers = [
        {floors.room_of(f"{floors.PACKAGE}.{name.strip(' ()')}") for name in line.split("|")}
        for line in lines
        if line.strip()
    ]
    inside = [set(rooms) for rooms in floors.FLOORS.values() if floors.PACKAGE not in rooms]
    assert inside == layers[::-1]


IMPORT_ALL = """
import importlib, json, sys
before = {name.split(".")[0] for name in sys.modules}
for name in json.loads(sys.argv[1]):
    importlib.import_module(name)
after = {name.split(".")[0] for name in sys.modules}
foreign = after - before - set(sys.stdlib_module_names)
print(json.dumps([name for name in sorted(foreign) if not name.startswith("_sysconfigdata")]))
"""


# pydantic and its dependencies.
PYDANTIC = (
    *("annotated_types", "pydantic", "pydantic_core"),
    *("typing_extensions", "typing_inspection"),
)


@pytest.mark.parametrize(
    ("rooms", "libraries"),
    [
        pytest.param(floors.PURE, PYDANTIC, id="the lowest four rooms"),
        pytest.param(
            ("evennia_ai.llm.local", "evennia_ai.llm.endpoints"), (), id="the local model"
        ),
    ],
)
def test_hardly_more_than_the_standard_library(
    rooms: tuple[str, ...], libraries: tuple[str, ...]
) -> None:
    """The lowest four rooms load only pydantic, the local model nothing at all."""
    prefixes = tuple(room if "." in room else f"{floors.PACKAGE}.{room}" for room in rooms)
    names = [
        name
        for name in MODULES
        if f"{name}.".startswith(tuple(f"{prefix}." for prefix in prefixes))
        and not name.endswith("__main__")
    ]
    command = [sys.executable, "-c", IMPORT_ALL, json.dumps(names)]
    done = subprocess.run(
        command, cwd=floors.ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert (0, "") == (done.returncode, done.stderr)
    assert {floors.PACKAGE, *libraries} == set(json.loads(done.stdout))


def tree_of(module: str) -> ast.Module:
    """Return the parsed source of a module of the package."""
    return floors.parse(MODULES[module])


@cache
def walked(module: str) -> tuple[ast.AST, ...]:
    """Return all nodes of a module of the package."""
    return tuple(ast.walk(tree_of(module)))


def named_nodes(tree: ast.AST, path: str) -> Iterator[tuple[str, ast.AST]]:
    """Yield classes and functions with their dotted names, except those inside functions.

    Signatures with `overload` are left out, since their function is yielded.
    """
    for node in ast.iter_child_nodes(tree):
        if "overload" in map(ast.unparse, getattr(node, "decorator_list", ())):
            continue
        if isinstance(node, (ast.ClassDef, *FUNCTIONS)):
            yield f"{path}.{node.name}", node
        if not isinstance(node, FUNCTIONS):
            name = f"{path}.{node.name}" if isinstance(node, ast.ClassDef) else path
            yield from named_nodes(node, name)


def nodes_of(*kinds: type[ast.AST]) -> Iterator[tuple[str, Any]]:
    """Yield all nodes of these kinds in the package, with their modules."""
    for module in MODULES:
        yield from ((module, node) for node in walked(module) if isinstance(node, kinds))


def test_modules_and_functions_are_small() -> None:
    """A module has at most 400 lines, a function 45."""
    sizes = {module: len(source.splitlines()) for module, source in MODULES.items()}
    assert {} == {module: size for module, size in sizes.items() if size > MOST_MODULE_LINES}
    assert [] == [
        f"{module}:{node.lineno} {node.name}"
        for module, node in nodes_of(*FUNCTIONS)
        if (node.end_lineno or 0) - node.lineno >= MOST_FUNCTION_LINES
    ]


def test_public_names_are_told() -> None:
    """Modules and all public names have docstrings."""
    named = [(path, node) for m in MODULES for path, node in named_nodes(tree_of(m), m)]
    told = [(m, tree_of(m)) for m, source in MODULES.items() if source.strip()] + [
        (path, node)
        for path, node in named
        if isinstance(node, (ast.ClassDef, *FUNCTIONS)) and "._" not in path
    ]
    assert [] == [path for path, node in told if not ast.get_docstring(node)]


def test_a_docstring_names_the_noun() -> None:
    """A docstring names a thing, such as "Seconds until the next beat", and asks nothing."""
    texts = [(m, ast.get_docstring(n)) for m, n in nodes_of(ast.Module, ast.ClassDef, *FUNCTIONS)]
    assert [] == [(m, text) for m, text in texts if text and text.split()[0] in ASKING]


def test_a_local_name_is_a_noun() -> None:
    """`rows`, `match` or `result` tell what a name holds; `found` tells only how it came there."""
    assert set() == {
        f"{module}:{node.lineno} {node.id}"
        for module, function in nodes_of(*FUNCTIONS)
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in PARTICIPLES
    }


def test_one_name_one_class() -> None:
    by_name: dict[str, list[str]] = {}
    for module in MODULES:
        for path, node in named_nodes(tree_of(module), module):
            if isinstance(node, ast.ClassDef) and not path.endswith(
                tuple(f".{name}" for name in LOOKED_UP)
            ):
                by_name.setdefault(node.name, []).append(path)
    assert {} == {name: paths for name, paths in by_name.items() if len(paths) > 1}


def test_borders_are_typed() -> None:
    """At most two of a hundred parameters may be Any, which a type checker cannot check."""
    given = [
        each.annotation
        for _, node in nodes_of(*FUNCTIONS)
        for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
        if each.arg not in ("self", "cls")
    ]
    untyped = [
        each
        for each in given
        if each is not None and any(getattr(n, "id", "") == "Any" for n in ast.walk(each))
    ]
    assert MOST_ANY >= len(untyped) / len(given)


def as_sorted(names: list[str]) -> list[str]:
    """Sort names in ruff's order: constants, then classes, then the rest."""
    return sorted(names, key=lambda name: (not name.isupper(), not name[0].isupper(), name))


def test_public_names_are_sorted() -> None:
    for module, node in nodes_of(ast.Assign):
        if "__all__" in map(ast.unparse, node.targets) and isinstance(
            node.value, (ast.List, ast.Tuple)
        ):
            names = list(ast.literal_eval(node.value))
            assert as_sorted(names) == names, module
