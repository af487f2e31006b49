"""The command `assistant`, with all its subcommands and its help."""

from __future__ import annotations

import re

from evennia_ai.commands import (
    access_tokens,
    asking,
    configuring,
    importing,
    lifecycle,
    overview,
    passing,
    player,
    prompts,
    reaching,
    upkeep,
    why,
)
from evennia_ai.core.typed_objects import Being

STAFF_HELP = re.compile(r"^ *For staff:$", re.MULTILINE)


class CmdAssistant(
    overview.OverviewWords,
    why.WhyWords,
    player.PlayerWords,
    asking.AskingWords,
    access_tokens.TokenWords,
    lifecycle.LifecycleWords,
    importing.ImportingWords,
    configuring.ConfiguringWords,
    reaching.ReachingWords,
    upkeep.UpkeepWords,
    prompts.PromptWords,
    passing.PassingWords,
):
    """
    The AI assistants of the game: whisper to one, page it, or say its name.

    Usage:
      assistant                            - who is here
      assistant why [<name>] [<number>]    - why it answered you, or did not
      assistant why <name> yesterday       - the same for a day, or for "words"
      assistant mute [<name>]              - you no longer hear each other
      assistant unmute [<name>]            - you hear each other again
      assistant memory [<name>]            - what it remembers about you
      assistant memory correct [<name>] <number> = <text>
      assistant memory off | on [<name>]   - stop or start remembering you
      assistant forget <number> [<name>]   - forget one thing about you
      assistant forget everything [<name>] - forget all about you, after asking
      assistant questions                  - what assistants ask you to allow
      assistant answer <number> yes | no   - allow it, or not
      assistant token [new [<what for>] | revoke <number>]
                                           - for programs that act in your name
      assistant page | hush | unhush ...   - our commands, if the game has others
      assistant help [<word>]              - one of these words, explained

    Examples:
      assistant why ada 12
      assistant mute ada
      assistant memory ada

    For staff:
    See how they are
      assistant [list]                     - all of them at a glance
      assistant status [<name>]            - one of them in detail
      assistant budget [<name> | game]     - tokens and money used, and caps
      assistant usage [<name>]             - calls, tokens and tools used
      assistant peers [<account>]          - external agents, and what they cost
      assistant breakers [<name>]          - services left alone for a while
      assistant tools [<name>]             - the tools it may use
      assistant check [<name>]             - test its model, and how fast it is
    Make and stop them
      assistant create [<name> [= <who it is>]]
                                           - without a name it asks step by step
      assistant clone <name> = <new name>  - another one like it
      assistant import <file> [= <name>]   - from a character card, after asking
      assistant export <name>              - its character card, as a file
      assistant delete <name>              - delete it for good, after asking
      assistant adopt <npc> [= <name>]     - make it an assistant, as it is
      assistant release <name>             - undo that; it is as before
      assistant remove all                 - delete all, before you uninstall
      assistant start | stop [<name> | all]
                                           - let it answer, or keep it silent
      assistant emergency stop [<name> | all]
                                           - stop at once, across restarts
      assistant emergency clear [<name> | all]
                                           - let it go on
    Set what they do
      assistant config <name>              - see and change its settings
      assistant undo [<name>], redo        - undo the last edit; redo it
      assistant messaging <name>           - how people reach it
      assistant channel <name> <channel> = <mode>
      assistant account <name>             - an account, for the game's own `page`
      assistant prompt <name>              - what its model is sent, and its size
      assistant component | template | context <name>
                                           - see and change the parts of that
      assistant goal <name>                - the goals it pursues by itself
      assistant lore                       - import and export lore packs
      assistant history [<name>]           - the command history
      assistant tell <name> <instruction>  - have it do something at once

    `assistant help <word>` explains each word. `aisetup` is the same command, and
    a word may be a switch: aisetup/config ada set tick_rate 10. Looking is for
    staff; what changes an assistant needs a lock of its own. See also: help
    history, help aimemory, help aiaudit

    Examples for staff:
      assistant create Edda = Edda copies old charts and loves a good riddle.
      assistant config ada set hearing_config.calls_per_player 10
    """

    key = "assistant"
    aliases = ("aisetup",)
    locks = "cmd:all()"
    meant = {
        **dict.fromkeys(("pause", "disable", "silence"), "stop"),
        **dict.fromkeys(("resume", "enable", "unpause", "wake"), "start"),
        **dict.fromkeys(("kill", "clear", "halt"), "emergency"),
        **dict.fromkeys(("cost", "costs", "spend", "spending", "money", "cap"), "budget"),
        **dict.fromkeys(("settings", "set", "persona", "rename", "model"), "config"),
        **dict.fromkeys(("info", "health"), "status"),
        **dict.fromkeys(("ask", "order"), "tell"),
        **dict.fromkeys(("new", "make", "add"), "create"),
        **dict.fromkeys(("memories", "remember"), "memory"),
        **dict.fromkeys(("move", "teleport"), "tel <name> = <place>"),
        "test": "check",
        "destroy": "delete",
    }

    def get_help(self, caller: Being, cmdset: object) -> str:
        """The help, without the part for staff if the reader can use nothing of it."""
        text = str(super().get_help(caller, cmdset))
        return text if self.serves(caller) else STAFF_HELP.split(text)[0].rstrip()
