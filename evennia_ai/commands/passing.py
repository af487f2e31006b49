"""The other commands as subcommands of `assistant`, for games that use their names themselves."""

from __future__ import annotations

import re
from functools import partial

from evennia.commands.cmdhandler import cmdhandler
from evennia.commands.command import Command

from evennia_ai.commands.aiaudit import CmdAiAudit
from evennia_ai.commands.aiexec import CmdAiExec
from evennia_ai.commands.aigoal import CmdAiGoal
from evennia_ai.commands.aiinteract import CmdAiInteract
from evennia_ai.commands.aimemory import CmdAiMemory
from evennia_ai.commands.base import AssistantCommand
from evennia_ai.commands.history import CmdHistory
from evennia_ai.commands.hush import CmdHush
from evennia_ai.commands.page import CmdPage
from evennia_ai.commands.words import WordCommand, subcommand


class PassingWords(WordCommand):
    """The subcommands that run another command."""

    @subcommand(
        "assistant page <name> = <message>",
        "The package's page command, if the game has its own.",
        is_for_all=True,
    )
    def _page(self, rest: str) -> None:
        self._pass_on(rest, CmdPage)

    @subcommand(
        "assistant hush [<name>] [<minutes> | off]",
        "Keeps it quiet in this room for a while. More: help hush",
        is_for_all=True,
    )
    def _hush(self, rest: str) -> None:
        self._pass_on(rest, CmdHush)

    @subcommand("assistant unhush [<name>]", "Lets it speak in this room again.", is_for_all=True)
    def _unhush(self, rest: str) -> None:
        self._pass_on(rest, CmdHush, "unhush")

    @subcommand(
        f"assistant {CmdHistory.how.replace(', ', ', assistant ')}",
        "Its conversation: see it, export it into a file, or reset it. More: help history",
    )
    def _history(self, rest: str) -> None:
        self._pass_on(rest, CmdHistory)

    def _pass_on(self, rest: str, kind: type[Command], word: str = "") -> None:
        target, word = kind(), word or kind.key
        # cmdhandler skips this check for a command that is passed as `cmdobj`.
        if not target.access(self.caller, "cmd"):
            self.show_usage(f"You may not do that: {word} is for staff.")
            return
        if isinstance(target, AssistantCommand):
            # Without `assistant` in front, the usage may name a command of the game.
            target.how = re.sub(rf"\b{kind.key} ", f"{self.key} {kind.key} ", target.how)
        cmdhandler(
            self.caller,
            f" {rest}",
            callertype=self.caller.cmdset_provider_type,
            session=self.session,
            cmdobj=target,
            cmdobj_key=word,
        )


for kind in (CmdAiAudit, CmdAiExec, CmdAiGoal, CmdAiMemory, CmdAiInteract):
    word_of_staff = subcommand(f"assistant {kind.key} ...", is_told=False)
    word_of_staff(partial(PassingWords._pass_on, kind=kind))
