"""Whether the prompts of assistants have room in the contexts of their models."""

from __future__ import annotations

from collections.abc import Sequence

from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.turn.fullness import Fullness
from evennia_ai.errors import ConfigurationError
from evennia_ai.llm.check import Line, Report
from evennia_ai.operations.prompting import next_prompt

NAME = "prompt"
# As many are looked at for a check of the whole game.
MOST_CHECKED = 50


def with_room(report: Report, scripts: Sequence[AssistantScript]) -> Report:
    """A check's report with one more line: the fullest prompt among some assistants'."""
    found = [(script, fullness_of(script)) for script in scripts[:MOST_CHECKED]]
    known = [(script, fullness) for script, fullness in found if fullness is not None]
    if not known:
        return report
    script, fullest = max(known, key=lambda item: item[1].tokens / item[1].most)
    line = Line(NAME, *fullest.checked(str(script.key)))
    return Report(report.title, (*report.lines, line))


def fullness_of(script: AssistantScript) -> Fullness | None:
    """How full a short whisper makes a context; None where it has no prompt, as before a start."""
    if script.work is None:
        return None
    try:
        return next_prompt(script, script.obj).prompt.fullness
    except ConfigurationError:
        return None
