"""The other commands as subcommands of `assistant`, for games that use their names themselves."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

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
from evennia_ai.commands.words import Subcommand, WordCommand

STAFF = (CmdAiAudit, CmdAiExec, CmdAiGoal, CmdAiMemory, CmdAiInteract)


def _forwarding_to(kind: type[Command], word: str) -> Callable[[Any, str], None]:
    def act(command: WordCommand, rest: str) -> None:
        target = kind()
        # cmdhandler skips this check for a command that is passed as `cmdobj`.
        if not target.access(command.caller, "cmd"):
            command.show_usage(f"You may not do that: {word} is for staff.")
            return
        if isinstance(target, AssistantCommand):
            # Without `assistant` in front, the usage may name a command of the game.
            target.how = re.sub(rf"\b{kind.key} ", f"{command.key} {kind.key} ", target.how)
        cmdhandler(
            command.caller,
            f" {rest}",
            callertype=command.caller.cmdset_provider_type,
            session=command.session,
            cmdobj=target,
            cmdobj_key=word,
        )

    return act


WORDS = {
    "page": Subcommand(
        _forwarding_to(CmdPage, "page"),
        "assistant page <name> = <message>",
        "The package's page command, if the game has its own.",
        is_for_all=True,
    ),
    "hush": Subcommand(
        _forwarding_to(CmdHush, "hush"),
        "assistant hush [<name>] [<minutes> | off]",
        "Keeps it quiet in this room for a while. More: help hush",
        is_for_all=True,
    ),
    "unhush": Subcommand(
        _forwarding_to(CmdHush, "unhush"),
        "assistant unhush [<name>]",
        "Lets it speak in this room again.",
        is_for_all=True,
    ),
    "history": Subcommand(
        _forwarding_to(CmdHistory, "history"),
        f"assistant {CmdHistory.how.replace(', ', ', assistant ')}",
        "Its conversation: see it, export it into a file, or reset it. More: help history",
    ),
    **{
        kind.key: Subcommand(
            _forwarding_to(kind, kind.key), f"assistant {kind.key} ...", is_told=False
        )
        for kind in STAFF
    },
}
