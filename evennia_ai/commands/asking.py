"""The subcommands of `assistant` for questions to people, instructions and goals."""

from __future__ import annotations

from evennia_ai import operations
from evennia_ai.commands.aigoal import do_goal
from evennia_ai.commands.base import number_of
from evennia_ai.commands.words import WordCommand, subcommand
from evennia_ai.messages.lines import literal
from evennia_ai.operations.conversation import tell


class AskingWords(WordCommand):
    """The subcommands for questions, instructions and goals."""

    @subcommand("assistant questions", "Lists what assistants ask you to allow.", is_for_all=True)
    def _questions(self, rest: str) -> None:
        if self.expect_nothing(rest):
            self.show(operations.questions(self.caller, is_staff=self.is_staff))

    @subcommand(
        "assistant answer <number> yes | no | take | drop",
        "Allows what an assistant asks for, or refuses it. Staff may also take over a question to "
        "somebody who left, or drop it, which counts as a no.",
        is_for_all=True,
    )
    def _answer(self, rest: str) -> None:
        first, _, last = rest.partition(" ")
        number = number_of(first)
        if number is None or not last.strip():
            self.show_usage()
            return
        self.show_later(operations.answer(number, self.caller, last, is_staff=self.is_staff))

    @subcommand(
        "assistant tell <name> <instruction>",
        "Makes it do something now, in your name, and shows you the result.",
    )
    def _tell(self, rest: str) -> None:
        script, instruction = self.split_name(rest)
        if script is None and rest:
            first, _, instruction = rest.partition(" ")
            # No name matched: `pick` says which assistants there are, or takes the only one.
            if instruction and (script := self.pick(first)) is None:
                return
        instruction = instruction.strip().removeprefix("=").strip()
        if script is None or not instruction:
            self.show_usage()
        elif self.may("tell", script):
            running = tell(script, self.caller, instruction)
            # Without a message, a turn that takes seconds looks like a command that did nothing.
            if not running.called:
                self.msg(literal(f"{script.key} has been told; you will see the result here."))
            self.show_later(running)

    @subcommand(
        "assistant goal [<name>], "
        "assistant goal <name> [under <number>] [<priority>] [<time>] = <text>, "
        "assistant goal <name> done | drop <number>",
        "Its goals, which it pursues by itself. More: help aigoal",
    )
    def _goal(self, rest: str) -> None:
        do_goal(self, rest)
