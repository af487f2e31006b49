"""A tool's schema in words, for people who run the tool by hand."""

from typing import Any

from evennia_ai.commands.tables import explain, takes

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "target": {"type": "string", "description": "whom to tell"},
        "message": {"type": "string"},
        "times": {"type": "integer", "minimum": 1, "maximum": 9, "default": 3},
        "loud": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "speed": {"anyOf": [{"type": "number"}, {"type": "null"}]},
        "size": {"type": "string", "enum": ["small", "big"]},
        "code": {"type": ["string", "integer"]},
    },
    "required": ["target", "message"],
}


def test_what_a_tool_takes_in_a_few_words() -> None:
    assert "target, message, [times], [loud], [tags], [speed], [size], [code]" == takes(SCHEMA)
    assert "nothing" == takes({"type": "object"})


def test_a_schema_in_words() -> None:
    lines = explain(SCHEMA)
    assert "  target         text: whom to tell" == lines[0]
    assert (
        "  times          whole number, at least 1, at most 9, usually 3 (may be left out)"
        == lines[2]
    )
    assert "  loud           yes or no (may be left out)" == lines[3]
    assert "  speed          number (may be left out)" == lines[5]
    assert "  size           text, one of small, big (may be left out)" == lines[6]
    assert "  code           text or whole number (may be left out)" == lines[7]
    assert ["  it takes nothing"] == explain({})
    for anything in ({}, True):
        lines = explain({"properties": {"x": anything}})
        assert ["  x              anything (may be left out)"] == lines
