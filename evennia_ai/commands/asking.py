"""What is typed after `assistant` when it wants a yes or a no, or is given a goal."""

from __future__ import annotations

from typing import Any

from evennia_ai import operations
from evennia_ai.commands.base import AssistantCommand
from evennia_ai.operations import Result
from evennia_ai.outbound import literal

MOST_DIGITS = 9


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() and len(text) <= MOST_DIGITS else None


class AskingWords(AssistantCommand):
    """The words for questions and goals."""

    def _questions(self, _rest: str) -> None:
        self.show(operations.questions(self.caller, is_staff=self.is_staff))

    def _answer(self, rest: str) -> None:
        first, _, last = rest.partition(" ")
        number = _number(first)
        if number is None or not last.strip():
            self.msg("Usage: assistant answer <number> yes | no")
            return
        answered = operations.answer(number, self.caller, last, is_staff=self.is_staff)
        answered.addCallback(self.show).addErrback(self._show_fault)

    def _show_fault(self, failure: Any) -> None:
        self.msg(literal(f"That went wrong: {failure.getErrorMessage()}"))
        failure.raiseException()

    def _goal(self, rest: str) -> None:
        """`goal ada`, `goal ada = <text>`, `goal ada 8 = <text>`, `goal ada done|drop <number>`."""
        head, is_new, text = rest.partition("=")
        words = head.split()
        last = _number(words[-1]) if len(words) > 1 else None
        act = words[-2].casefold() if last is not None and len(words) > 2 else ""
        if act in ("done", "drop") and not is_new:
            script = self.pick_controlled(" ".join(words[:-2]), f"goal {act}")
            if script is not None:
                self.show(operations.close_goal(script, last or 0, is_completed=act == "done"))
            return
        name = " ".join(words[:-1] if is_new and last is not None else words)
        script = self.pick_controlled(name, "goal") if is_new else self.pick(name)
        if script is not None:
            self.show(self._goals_of(script, bool(is_new), text, last))

    def _goals_of(self, script: Any, is_new: bool, text: str, priority: int | None) -> Result:
        if not is_new:
            return operations.list_goals(script)
        return operations.add_goal(script, text, 5 if priority is None else priority)
