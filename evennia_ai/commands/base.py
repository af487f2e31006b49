"""What the commands share: finding the assistant that is meant, and showing results."""

from __future__ import annotations

from typing import Any

from evennia import default_cmds

from evennia_ai import operations
from evennia_ai.operations import Result
from evennia_ai.outbound import literal


class AssistantCommand(default_cmds.MuxCommand):
    """Base of the commands here."""

    help_category = "AI assistant"

    def word_and_rest(self) -> tuple[str, str]:
        """The first word, in lower case, and what follows. Switches count as the first words."""
        line = " ".join([*self.switches, self.args.strip()])
        word, _, rest = line.strip().partition(" ")
        return word.casefold(), rest.strip()

    def show(self, result: Result) -> None:
        """Tell the caller how it went."""
        self.msg(literal(result.message))

    @property
    def is_staff(self) -> bool:
        """Whether the caller may do what is for staff."""
        return bool(self.access(self.caller, "staff"))

    def is_here(self, script: Any) -> bool:
        """Whether an assistant is where the caller is."""
        room = getattr(self.caller, "location", None)
        return room is not None and script.obj is not None and script.obj.location == room

    def pick(self, name: str) -> Any:
        """The assistant of that name; without one the only one there is, or the one in the room.

        Returns:
            The script, or None after telling the caller what to type instead.
        """
        if name.strip():
            script = operations.find_assistant(name)
            if script is None:
                self.msg(f"There is no assistant named {literal(name.strip())}. {self._choices()}")
            return script
        scripts = operations.list_assistants()
        candidates = scripts if len(scripts) == 1 else [s for s in scripts if self.is_here(s)]
        if len(candidates) == 1:
            return candidates[0]
        self.msg(f"Which assistant? {self._choices()}")
        return None

    def may_control(self, script: Any) -> bool:
        """Whether the caller has a say over an assistant."""
        return operations.may_control(script, self.caller, is_staff=self.is_staff)

    def controls(self, script: Any, act: str) -> bool:
        """The same; whoever has none is told what is missing, and that is written down.

        Args:
            act: what was to be done, as typed, such as "emergency stop".
        """
        if self.may_control(script):
            return True
        self.show(operations.refuse_control(script, self.caller, act))
        return False

    def pick_controlled(self, name: str, act: str) -> Any:
        """The assistant that `pick` finds, if the caller has a say over it."""
        script = self.pick(name)
        return script if script is not None and self.controls(script, act) else None

    def _choices(self) -> str:
        names = ", ".join(literal(script.key) for script in operations.list_assistants())
        return f"There are: {names}." if names else "There are none yet: assistant create <name>"
