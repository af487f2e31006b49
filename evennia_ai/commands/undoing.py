"""The words of `assistant` that take an edit back, and make it again."""

from __future__ import annotations

from typing import TypeGuard

from evennia_ai.commands.base import number_of
from evennia_ai.commands.words import Subcommand, WordCommand
from evennia_ai.operations import AssistantScript, Result
from evennia_ai.operations.audit import undoing as edits_of
from evennia_ai.operations.audit.edits import Edit

LIST = "list"


class UndoingWords(WordCommand):
    """The words about edits that somebody made."""

    def _undo(self, rest: str) -> None:
        first = rest.partition(" ")[0]
        script, rest = self.whose(rest, (LIST, first) if number_of(first) is not None else (LIST,))
        if script is None:
            return
        word = rest.casefold()
        if word == LIST:
            if self.may("show configuration", script):
                self.show_long(edits_of.list_edits(script).message)
        elif word and number_of(word) is None:
            self.show_how(f"{rest} is neither the number of an edit nor '{LIST}'.")
        elif self.may("undo", script):
            found = edits_of.find_undo(script, number_of(word))
            if self._may_change(found, script):
                self.show(edits_of.undo(script, found, by=self.by, person=self.caller))

    def _redo(self, name: str) -> None:
        script = self.pick_for(name, "undo")
        if script is not None:
            found = edits_of.find_redo(script)
            if self._may_change(found, script):
                self.show(edits_of.redo(script, found, by=self.by, person=self.caller))

    def _may_change(self, found: Edit | Result, script: AssistantScript) -> TypeGuard[Edit]:
        """True where there is an edit, and the caller has its rights; else they are told why."""
        if isinstance(found, Result):
            self.show(found)
            return False
        return all(self.may(act, script) for act in edits_of.acts_of(found))


WORDS = {
    "undo": Subcommand(
        UndoingWords._undo,
        "assistant undo [<name>] [list | <number>]",
        "Takes back the last edit that somebody made to it: a setting, its prompt, "
        "who it is, its look, what it may do. Type it again for the one before. List "
        "shows the edits that can be taken back, each with a number. What was changed "
        "again since stays, and so does what is no edit: what was said, spent, "
        "forgotten or deleted.",
    ),
    "redo": Subcommand(
        UndoingWords._redo,
        "assistant redo [<name>]",
        "Makes the edit again that was last taken back.",
    ),
}
