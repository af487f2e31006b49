"""Citations and links of the pages: decisions, sections, rooms and files exist."""

import re
from pathlib import Path

import pytest

from tests import floors

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / floors.PACKAGE
DECISIONS = ROOT / "docs" / "decisions"
RECORDS = {path.name[:4]: path for path in sorted(DECISIONS.glob("[0-9]*.md"))}
FIRST_LINES = re.compile(
    r"# (?P<number>\d{4}) (?P<title>\S.+)\n\n"
    r"Date: \d{4}-\d\d-\d\d\. Status: (?P<status>(?:.|\n(?!\n))+)\n\n"
)
REPLACES = re.compile(r"replaces ((?:\d{4}(?:, | and |,\n))*\d{4})")
ONE_PAGE = 60  # lines

NUMBERS = r"(\d{4}(?:(?:, | and | or )\d{4})*)"
CITED = re.compile(rf"(?i:\bdecisions?[ /]{NUMBERS})|\[{NUMBERS}\]\(")
SOURCES = [
    path
    for folder in (".ci", "benchmarks", "docs", "evennia_ai", "server", "tests", "world")
    for path in sorted((ROOT / folder).rglob("*"))
    if path.suffix in (".py", ".md") and path != DECISIONS / "README.md"
] + [*sorted(ROOT.glob("*.md")), ROOT / "Makefile", ROOT / "setup.cfg"]

PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
TO_SECTION = re.compile(r"\]\((?!https?:)([^)#]*)#([^)]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
MOST_README_LINES = 130


def cited_in(text: str) -> list[str]:
    """Return the decisions that a text cites, as `decision NNNN`, by path, or as a link."""
    groups = (group for match in CITED.finditer(text) for group in match.groups() if group)
    return [number for group in groups for number in re.findall(r"\d{4}", group)]


def replaced_by(path: Path) -> list[str]:
    """Return the numbers that a record replaces."""
    head = FIRST_LINES.match(path.read_text(encoding="utf-8"))
    match = REPLACES.search(head["status"]) if head else None
    return re.findall(r"\d{4}", match[1]) if match else []


@pytest.mark.parametrize("path", RECORDS.values(), ids=lambda path: path.name[:4])
def test_a_decision_is_a_page_with_title_date_and_status(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    head = FIRST_LINES.match(text)
    assert head, "not `# NNNN Title`, an empty line, `Date: YYYY-MM-DD. Status: ...`"
    assert path.name[:4] == head["number"]
    assert ONE_PAGE >= len(text.splitlines())


def test_each_number_is_one_record() -> None:
    assert len(RECORDS) == len(list(DECISIONS.glob("[0-9]*.md")))
    replaced = [number for path in RECORDS.values() for number in replaced_by(path)]
    assert len(set(replaced)) == len(replaced)
    assert set() == RECORDS.keys() & set(replaced)


def test_the_list_has_every_record_with_its_title() -> None:
    page = (DECISIONS / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^- \[(\d{4})\]\((\S+)\): (.+)$", page, re.MULTILINE)
    titles = (FIRST_LINES.match(path.read_text(encoding="utf-8")) for path in RECORDS.values())
    expected = [
        (number, path.name, head["title"])
        for (number, path), head in zip(RECORDS.items(), titles, strict=True)
        if head
    ]
    assert expected == sorted(rows)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("docs/decisions/0001 tells why", ["0001"]),
        ("see decision 0042", ["0042"]),
        ("Decisions 0042, 0043 and 0044 say", ["0042", "0043", "0044"]),
        ("([0125](decisions/0125-tools.md))", ["0125", "0125"]),
        ("for $0.0042, at version 0042", []),
    ],
)
def test_what_cites_a_decision(text: str, numbers: list[str]) -> None:
    assert numbers == cited_in(text)


def test_decisions_that_are_cited_exist() -> None:
    lost = [
        f"{path.relative_to(ROOT)} cites {number}"
        for path in SOURCES
        if path != Path(__file__)
        for number in cited_in(path.read_text(encoding="utf-8"))
        if number not in RECORDS
    ]
    assert [] == lost


def sections_of(path: Path) -> set[str]:
    """Return the anchors of a page's headings: lower case with hyphens."""
    headings = HEADING.findall(path.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_links_to_a_section_find_it(path: Path) -> None:
    missing = [
        f"{page}#{section}"
        for page, section in TO_SECTION.findall(path.read_text(encoding="utf-8"))
        if section not in sections_of(path.parent / page if page else path)
    ]
    assert [] == missing


def test_architecture_has_every_room() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = page.split("## The rooms", 1)[1].split("\n## ", 1)[0]
    cells = [line.split("|")[2] for line in table.splitlines() if line.startswith("| ")]
    named = [room for cell in cells for room in re.findall(r"`(\w+)`", cell)]
    rooms = {floors.room_of(module) for module in floors.read_package()} - {floors.PACKAGE}
    assert sorted(rooms) == sorted(named)


def test_the_files_that_the_walks_name_are_there() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = re.findall(r"`([\w/.-]+(?:\.py|\.md|/))`", page)
    missing = [
        name for name in named if not any((place / name).exists() for place in (PACKAGE, ROOT))
    ]
    assert [] == missing
    assert len(named) > 40, "the walks are not written with paths any more"


def test_readme_is_short() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert MOST_README_LINES >= len(lines)
