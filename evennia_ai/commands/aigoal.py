"""The command `aigoal`, also as `assistant goal`: the goals an assistant pursues by itself."""

from __future__ import annotations

from evennia_ai import operations
from evennia_ai.commands.base import AssistantCommand, StaffCommand, number_of
from evennia_ai.operations import AssistantScript

USUAL_PRIORITY = 5
ENDS = {"done": True, "drop": False}
UNDER = "under"


def do_goal(command: AssistantCommand, line: str) -> None:
    """Handle `ada`, `ada [under 3] [8] [at dusk] = <text>` and `ada done|drop <number>`.

    Args:
        command: provides the caller, and the usage for error messages.
        line: everything after the command's name, with switches in front.
    """
    head, is_new, text = line.partition("=")
    script, rest = command.whose(head.strip(), (*ENDS, UNDER))
    if script is None:
        return
    words = rest.casefold().split()
    if is_new:
        _add(command, script, words, text.strip())
    elif len(words) == 2 and words[0] in ENDS and (number := number_of(words[1])) is not None:
        if command.may("goal", script):
            is_completed = ENDS[words[0]]
            command.show(operations.close_goal(script, number, is_completed=is_completed))
    elif words:
        problem = f"{script.key} has no goal {rest}, and there is no 'aigoal' command like that."
        command.show_usage(problem)
    elif command.may("status", script):
        command.show(operations.list_goals(script))


def _add(command: AssistantCommand, script: AssistantScript, words: list[str], text: str) -> None:
    parent = None
    if words[:1] == [UNDER]:
        parent = number_of(words[1]) if len(words) > 1 else None
        if parent is None:
            command.show_usage("After `under`, give the number of the goal that it is a part of.")
            return
        words = words[2:]
    priority = number_of(words[0]) if words else None
    # What is left in front of the = is a time, checked by the operation.
    when = " ".join(words if priority is None else words[1:])
    if command.may("goal", script):
        wanted = USUAL_PRIORITY if priority is None else priority
        command.show_or_usage(operations.add_goal(script, text, wanted, parent, when))


class CmdAiGoal(StaffCommand):
    """
    See and set the goals that an AI assistant pursues by itself.

    Usage:
      aigoal [<name>]                          - its goals
      aigoal <name> [under <number>] [<priority>] [<time>] = <what to reach>
      aigoal <name> done | drop <number>

    A priority is 1 (may wait) to 10 (pressing); without one it is 5. The same
    as `assistant goal`. `under` makes it a part of another goal: its parts are
    worked on first, and how far the whole has come follows from them. A goal
    that is closed takes its open parts along.

    A time is `at 18:30`, `at dusk` or `at game 20:00` by the game's own day,
    `daily at` one of these, `in 2 hours`, or `2026-12-01 18:00`. One that is
    missed by more than a quarter of an hour is told, and not caught up.

    What changes its goals needs its lock `ai_control`.

    Examples:
      aigoal ada 8 = Find out who took the atlas.
      aigoal ada under 3 = Ask the binder.
      aigoal ada daily at dusk = Walk to the pier.
      aigoal ada done 3
    """

    key = "aigoal"
    how = (
        "aigoal [<name>], aigoal <name> [under <number>] [<priority>] [<time>] = <text>, "
        "aigoal <name> done | drop <number>"
    )

    def act(self) -> None:
        """Run the command."""
        do_goal(self, self.line())
