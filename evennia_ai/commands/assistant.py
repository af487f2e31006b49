"""The command `assistant`: what each of its words does, and who may use it."""

from __future__ import annotations

import re
from collections.abc import Callable

from evennia_ai.commands.asking import AskingWords
from evennia_ai.commands.budget import BudgetWords
from evennia_ai.commands.player import PlayerWords
from evennia_ai.commands.prompts import PromptWords
from evennia_ai.commands.staff import StaffWords
from evennia_ai.outbound import literal

STAFF_HELP = re.compile(r"^ *For staff:$", re.MULTILINE)


class CmdAssistant(PlayerWords, AskingWords, BudgetWords, PromptWords, StaffWords):
    """
    The AI assistants of the game: talk to them by `whisper`, `page`, or `say @<name> ...`.

    Usage:
      assistant                            - who is here
      assistant why [<name>] [<number>]    - why she answered you, or did not
      assistant mute [<name>]              - she no longer hears you, nor you her
      assistant unmute [<name>]            - as before
      assistant forget me [<name>]         - what she keeps about you
      assistant questions                  - what an assistant wants you to allow
      assistant answer <number> yes | no   - allow it, or not

    For staff:
      assistant [list]                     - all of them at a glance
      assistant status [<name>]            - one of them in detail
      assistant create <name> [= <who she is, in a sentence or two>]
      assistant start <name>               - let her answer
      assistant stop <name>                - keep her silent
      assistant channel <name> <channel> = trigger | context | ignore | leave
                                           - answer all that is said there, only
                                             take note, only answer to @<name>
      assistant goal <name>                - what she is after by herself
      assistant goal <name> [<priority>] = <what to reach>
      assistant goal <name> done | drop <number>
      assistant prompt <name> [show]       - what her model is sent, and its size
      assistant component <name> [list | set <id> <key> = <text> | on <id> |
                                  off <id> | delete <id>]
      assistant template <name> [list | set <key> = <text> | apply <key> |
                                 delete <key>]
      assistant context <name> [list | <context> | <context> set <field> <value> |
                                <context> reset]
      assistant account <name>             - an account, for the game's own `page`
      assistant check [<name>]             - try her model: does it answer, know
                                             tools, read long prompts, how fast
      assistant budget [<name> | game]     - tokens and money used, by whom, and caps
      assistant budget <name> | game raise <cap> <amount>
                                           - allow more until its day or month ends
      assistant answer <number> take | drop
                                           - answer for somebody who left, or
                                             take it as a no
      assistant emergency stop [<name>]    - stop at once, over restarts too
      assistant emergency stop all         - the same for all of them
      assistant emergency clear [<name>]   - let her go on
    What changes an assistant needs her lock `control`.

    Examples:
      assistant why ada 12
      assistant create Edda = Edda copies old charts and loves a good riddle.
    """

    key = "assistant"
    aliases = ("aisetup",)
    locks = "cmd:all();staff:perm(Builder)"

    def func(self) -> None:
        """Find the word and do it."""
        word, rest = self.word_and_rest()
        act = self._for_all().get(word)
        if self.is_staff:
            act = self._for_staff().get(word, act)
        elif act is None and word in self._for_staff():
            self.msg(f"'assistant {word}' is for staff. Type: help assistant")
            return
        if act is None:
            self.msg(f"assistant has no '{literal(word)}'. Type: help assistant")
            return
        act(rest)

    def get_help(self, caller: object, cmdset: object) -> str:
        """The help, without the part for staff where the reader is none."""
        text = str(super().get_help(caller, cmdset))
        return text if self.access(caller, "staff") else STAFF_HELP.split(text)[0].rstrip()

    def _for_all(self) -> dict[str, Callable[[str], None]]:
        return {
            "": self._who_is_here,
            "why": self._why,
            "mute": self._mute,
            "unmute": self._unmute,
            "forget": self._forget,
            "questions": self._questions,
            "answer": self._answer,
            "emergency": self._emergency,
        }

    def _for_staff(self) -> dict[str, Callable[[str], None]]:
        return {
            "": self._overview,
            "list": self._overview,
            "status": self._status,
            "create": self._create,
            "init": self._create,
            "start": lambda name: self._enable(name, True),
            "stop": lambda name: self._enable(name, False),
            "channel": self._channel,
            "goal": self._goal,
            **self.prompt_words(),
            "account": self._account,
            "budget": self._budget,
            "check": self._check,
        }
