"""The subcommands `assistant undo` and `assistant redo`."""

from __future__ import annotations

from evennia_ai.commands.base import number_of
from evennia_ai.commands.words import WordCommand, subcommand
from evennia_ai.operations import AssistantScript, Result
from evennia_ai.operations.audit import undoing as edits_of
from evennia_ai.operations.audit.edits import Edit

LIST = "list"


class UndoingWords(WordCommand):
    """The subcommands about earlier edits."""

    @subcommand(
        "assistant undo [<name>] [list | <number>]",
        "Undoes the last edit that somebody made to it: a setting, its prompt, its persona, its "
        "look, what it may do. Type it again to undo the one before. List shows the edits that can "
        "be undone, each with a number. Later changes to the same thing stay; and nothing that was "
        "said, spent, forgotten or deleted comes back.",
    )
    def _undo(self, rest: str) -> None:
        first = rest.partition(" ")[0]
        # A number in front is an edit's, unless an assistant has it as a name.
        script, rest = self.whose(rest, (LIST, first) if number_of(first) is not None else (LIST,))
        if script is None:
            return
        word = rest.casefold()
        if word == LIST:
            if self.may("show configuration", script):
                self.show_long(edits_of.list_edits(script).message)
        elif word and number_of(word) is None:
            self.show_usage(f"{rest} is neither the number of an edit nor '{LIST}'.")
        elif self.may("undo", script):
            edit = edits_of.find_undo(script, number_of(word))
            if self._may_change(edit, script):
                self.show(edits_of.undo(script, edit.data, by=self.by, person=self.caller))

    @subcommand("assistant redo [<name>]", "Makes the edit again that was last undone.")
    def _redo(self, name: str) -> None:
        script = self.pick_for(name, "undo")
        if script is not None:
            edit = edits_of.find_redo(script)
            if self._may_change(edit, script):
                self.show(edits_of.redo(script, edit.data, by=self.by, person=self.caller))

    def _may_change(self, edit: Result[Edit], script: AssistantScript) -> bool:
        """True if an edit was found and the caller has its rights; otherwise show why not."""
        if not edit.ok:
            self.show(edit)
            return False
        # The right to undo is not enough: an edit may have needed others.
        return all(self.may(act, script) for act in edits_of.acts_of(edit.data))
