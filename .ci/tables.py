"""How tables are written, and where their texts come from."""

from __future__ import annotations

import inspect
import re


def as_table(head: tuple[str, ...], rows: list[tuple[object, ...]]) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(map(str, row)) + " |" for row in (head, *rows)]
    return "\n".join([lines[0], "|" + "---|" * len(head), *lines[1:]]) + "\n"


def attribute_texts(config: type) -> dict[str, str]:
    """The texts of a docstring's `Attributes:`, by name."""
    # Python 3.13 takes a docstring's indentation away, the others keep it.
    text = inspect.cleandoc(config.__doc__ or "")
    texts = dict(re.findall(r"^ {4}([\w, ]+): (.+(?:\n {8}.+)*)", text, re.MULTILINE))
    return {name: " ".join(t.split()) for names, t in texts.items() for name in names.split(", ")}
