"""The documents: fresh tables, working links, valid snippets."""

import re
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import pytest

import tests.evennia_setup  # noqa: F401  (before anything of Evennia is imported)
from evennia_ai.api import schema
from evennia_ai.operations.files import lore_packs
from evennia_ai.tools.registry import REGISTRY, Tool

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")
SNIPPET = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PACK = re.compile(r"^```yaml\n(pack: .*?)^```$", re.DOTALL | re.MULTILINE)
# An address below `/api/ai/` or below an assistant, such as `GET tokens/` or `events/<n>/`.
ADDRESS = re.compile(r"`(?:[A-Z]+ )?(?:/api/ai/)?((?!api/|schema/|/|server/)[a-z_A-Z0-9<>{}/-]+/)`")
ABOUT_REST = [
    ROOT / "docs" / f"{name}.md" for name in ("api", "audit", "cards", "memory", "monitoring")
]
SNIPPETS = [
    pytest.param(found[1], id=f"{path.stem}-{number}")
    for path in DOCUMENTS
    for number, found in enumerate(SNIPPET.finditer(path.read_text(encoding="utf-8")))
]


def test_the_tables_are_what_the_code_says() -> None:
    checked = subprocess.run(
        [sys.executable, ".ci/docs.py", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert 0 == checked.returncode, checked.stdout + checked.stderr


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    missing = [link for link in LINK.findall(text) if not (path.parent / link).exists()]
    assert [] == missing


@pytest.mark.parametrize("path", ABOUT_REST, ids=lambda path: path.name)
def test_addresses_of_the_api_are_there(path: Path) -> None:
    """Documents write an address whole or in part, and name its parameters freely."""
    routes = [re.split(r"/", row.route.path.rstrip("/")) for row in schema.TABLE]
    named = ADDRESS.findall(path.read_text(encoding="utf-8"))
    assert named
    missing = [each for each in named if not any(_is_in(each, route) for route in routes)]
    assert [] == missing


def _is_in(address: str, route: list[str]) -> bool:
    """Return True where the parts of an address are consecutive parts of a route."""
    parts = address.rstrip("/").split("/")
    places = range(len(route) - len(parts) + 1)
    return any(
        all(
            there == part or there[0] == "<" for there, part in zip(route[at:], parts, strict=False)
        )
        and any(there == part for there, part in zip(route[at:], parts, strict=False))
        for at in places
    )


@pytest.mark.parametrize("snippet", SNIPPETS)
def test_snippets_are_python(snippet: str) -> None:
    compile(snippet, "snippet", "exec")


@pytest.fixture
def registry() -> Iterator[dict[str, Tool]]:
    """The registry without a tool `tide`; restored afterwards."""
    before = dict(REGISTRY)
    REGISTRY.pop("tide", None)
    yield REGISTRY
    REGISTRY.clear()
    REGISTRY.update(before)


def test_the_tool_of_the_documents_works(registry: dict[str, Tool]) -> None:
    text = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
    source = next(code for code in SNIPPET.findall(text) if code.startswith("# world/tools.py"))
    module = types.ModuleType("world_tools_of_the_documents")
    exec(compile(source, "docs/extending.md", "exec"), module.__dict__)
    assert ["harbour"] == registry["tide"].spec.parameters["required"]
    assert "The tide turns an hour past noon." == module.tide(None, "Greyport")
    with pytest.raises(module.ToolError, match="no harbour Oslo; there are Greyport"):
        module.tide(None, "Oslo")


def test_the_lore_pack_of_the_documents_is_read() -> None:
    match = PACK.search((ROOT / "docs" / "cards.md").read_text(encoding="utf-8"))
    assert match is not None
    read = lore_packs.read(match[1].encode())
    assert read.ok, read.message
