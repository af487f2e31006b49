"""More ways to ask the residents what they know, by the answer that each of them brings.

A small model finds an answer by a question that was asked like it, so each has several; whoever
adds a fact to a resident adds to its answers how newcomers ask for it. Other models are not shown
these. They stand in `ada_answers.py` and `brass_answers.py`.
"""

from collections.abc import Mapping

Answers = Mapping[str, tuple[str, ...]]


def pairs(answers: Answers) -> tuple[tuple[str, str], ...]:
    """The ways to ask, a line each, with their answer, as a resident's examples are written."""
    return tuple(("\n".join(ways), answer) for answer, ways in answers.items())
