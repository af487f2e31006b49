"""Bounds on what a server sends: answers, complaints, bodies."""

import asyncio
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest

from evennia_ai.mcp import tether
from evennia_ai.mcp.listing import as_text, bounded
from evennia_ai.mcp.streams import MOST_BODY_BYTES, MOST_BRACKETS, MOST_LINES, LineLog, limit_body
from tests.llm.web import BareServer, reply


def _block(kind: str, **members: Any) -> SimpleNamespace:
    return SimpleNamespace(type=kind, **members)


@pytest.mark.parametrize(
    ("content", "structured", "expected"),
    [
        pytest.param([], None, "", id="nothing"),
        pytest.param([_block("text", text="a"), _block("text", text="b")], {"c": 1}, "a\nb",
                     id="texts, and the same as a value"),
        pytest.param([_block("text", text=" ")], [1, "ü"], '[1, "ü"]', id="a value only"),
        pytest.param([_block("audio", data="", mime_type="audio/wav")], None,
                     "[a sound, audio/wav]", id="a sound"),
        pytest.param([_block("image", data="", mime_type="")], None,
                     "[an image, of no known type]", id="a picture of no kind"),
        pytest.param([_block("hologram")], None, "[something unknown, of no known type]",
                     id="something new"),
        pytest.param([_block("resource", resource=SimpleNamespace(uri="a:b", text="the page"))],
                     None, "the page", id="a file with text"),
        pytest.param([_block("resource", resource=SimpleNamespace(uri="a:b", blob="AAAA"))],
                     None, "[a file: a:b]", id="a file without"),
        pytest.param([_block("resource_link", uri="a:b")], None, "[a link: a:b]", id="a link"),
    ],
)  # fmt: skip
def test_answers(content: list[Any], structured: Any, expected: str) -> None:
    """Texts are joined, a value stands for a missing text, anything else is named."""
    assert expected == as_text(content, structured)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("abcdefghij", "abcdefghij", id="just fits"),
        pytest.param("abcdefghij\x00", "abcdefghij", id="fits when it is clean"),
        pytest.param(
            "abcdefghijk", "abcdefghij… [cut: the whole has 11 characters]", id="too long"
        ),
        pytest.param("\x00" * 30, "… [cut: the whole has 30 characters]", id="long and empty"),
    ],
)
def test_long_texts(text: str, expected: str) -> None:
    assert expected == bounded(text, 10)


def test_complaints_are_lines() -> None:
    """Lines may come in pieces; control characters and empty lines are dropped."""
    lines: list[str] = []
    log = LineLog(lines.append)
    for piece in (b"one\ntw", b"o\n\n", b"\x1b[31mth\xffree"):
        log.data_received(piece)
    log.connection_lost(None)
    assert ["one", "two", "th\ufffdree"] == lines


def test_complaints_are_bounded() -> None:
    """A program that floods the log gets a hundred short lines of it."""
    lines: list[str] = []
    log = LineLog(lines.append)
    log.data_received(b"x" * 1_000_000)
    for number in range(500):
        log.data_received(b"y" * number + b"z" * 10_000 + b"\n")
    assert MOST_LINES + 1 == len(lines)
    assert "it goes on; no more of it is shown" == lines[-1]
    assert 300 >= max(map(len, lines))


def test_repeated_complaints_hide_no_other() -> None:
    """What a program writes for each request is logged once, so that its errors are seen."""
    lines: list[str] = []
    log = LineLog(lines.append)
    for number in range(500):
        log.data_received(b"[12:00:%02d] INFO Processing request %d\n" % (number % 60, number))
    log.data_received(b"ValueError: no such harbour\n")
    assert ["[12:00:00] INFO Processing request 0", "ValueError: no such harbour"] == lines


@pytest.mark.parametrize("end", [b"\n", b""])
def test_the_last_complaint_is_told(end: bytes) -> None:
    """The last line of a program that ended is logged, however much it wrote before."""
    lines: list[str] = []
    log = LineLog(lines.append)
    for number in range(500):
        log.data_received(b"y" * number + b"\n")
    log.data_received(b"OSError: the disk is full" + end)
    log.connection_lost(None)
    assert "OSError: the disk is full" == lines[-1]
    assert MOST_LINES + 2 == len(lines)


def _fetch(body: str) -> str:
    async def fetch(url: str) -> str:
        hooks = {"response": [limit_body]}
        async with httpx2.AsyncClient(event_hooks=hooks, trust_env=False) as client:
            return (await client.get(url)).text

    with BareServer.running({"/v1": reply(body)}) as server:
        return asyncio.run(fetch(server.base_url))


def test_a_body_that_fits() -> None:
    assert "x" * 1000 == _fetch("x" * 1000)


def test_a_body_without_end() -> None:
    with pytest.raises(httpx2.StreamError, match="larger than 4000000 bytes"):
        _fetch("x" * (MOST_BODY_BYTES + 1))


def test_hole_c17_a_body_of_brackets() -> None:
    """Lists and mappings cost a hundred times as much as text, so they have their own bound."""
    with pytest.raises(httpx2.StreamError, match="more than 200000 brackets"):
        _fetch("[]," * (MOST_BRACKETS + 1))


def test_a_program_whose_game_has_ended_is_not_started() -> None:
    """The game may end after it starts the program and before the two are tied together."""
    command = [sys.executable, "-I", "-S", tether.__file__, "1", "echo", "too late"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (1, "") == (done.returncode, done.stdout)
