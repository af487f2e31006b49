"""The command `aigoal`: what an assistant is after by itself."""

from __future__ import annotations

from evennia_ai.commands.goal_words import do_goal
from evennia_ai.commands.staff_command import StaffCommand


class CmdAiGoal(StaffCommand):
    """
    See and set what an AI assistant is after by itself.

    Usage:
      aigoal [<name>]                          - its goals
      aigoal <name> [under <number>] [<priority>] = <what to reach>
      aigoal <name> done | drop <number>

    A priority is 1 (may wait) to 10 (pressing); without one it is 5. The same
    as `assistant goal`. `under` makes it a part of another goal: its parts are
    worked on first, and how far the whole has come follows from them. A goal
    that is closed takes its open parts along.

    What changes its goals needs its lock `ai_control`.

    Examples:
      aigoal ada 8 = Find out who took the atlas.
      aigoal ada under 3 = Ask the binder.
      aigoal ada done 3
    """

    key = "aigoal"
    how = (
        "aigoal [<name>], aigoal <name> [under <number>] [<priority>] = <text>, "
        "aigoal <name> done | drop <number>"
    )

    def act(self) -> None:
        """Do what is typed."""
        do_goal(self, self.line())
