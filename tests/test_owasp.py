"""OWASP's lists are complete, and each risk names existing tests."""

import re

import pytest

from tests.named_tests import ROOT, find
from tests.owasp import RISKS

PINNED = re.compile(r"[A-Za-z0-9._-]+(\[[a-z0-9,_-]+\])?==[^ ;]+( ; .+)?( \\)?")


def test_both_lists_are_whole() -> None:
    models = [f"LLM{number:02}:2025" for number in range(1, 11)]
    agents = [f"ASI{number:02}:2026" for number in range(1, 11)]
    assert [*models, *agents] == list(RISKS)


@pytest.mark.parametrize("risk", RISKS)
def test_a_risk_has_tests(risk: str) -> None:
    assert RISKS[risk].tests
    for name in RISKS[risk].tests:
        find(name)


def test_every_requirement_is_pinned() -> None:
    lines = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    named = [line for line in lines if line and line[0] not in "# -"]
    assert named
    assert [] == [line for line in named if not PINNED.fullmatch(line.strip())]
