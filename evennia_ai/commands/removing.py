"""The words of `assistant` that take all of them out of a game."""

from __future__ import annotations

from evennia_ai.commands.base import Steps
from evennia_ai.commands.words import ALL, Word, WordCommand
from evennia_ai.operations import removing

AND_RECORDS = "all and records"


class RemovingWords(WordCommand):
    """The word about the end of all assistants."""

    def _remove(self, rest: str) -> Steps:
        if not self.may("remove all"):
            return
        words = " ".join(rest.casefold().split())
        if words not in (ALL, AND_RECORDS):
            self.show_how(
                "This is for all assistants at once. One of them: assistant delete <name>, or "
                "assistant release <name> for a being of the game."
            )
            return
        found, and_records = removing.belongings(), words == AND_RECORDS
        if refused := removing.refuse_removal(found):
            self.show(refused)
            return
        question = removing.describe_removal(found, and_records=and_records)
        if not (yield from self.confirmed(question)):
            self.show_how("Nothing is removed.")
            return
        # Meanwhile the right may have been taken away.
        if self.may("remove all"):
            self.show(removing.remove_all(by=str(self.caller.key), and_records=and_records))


WORDS = {
    "remove": Word(
        RemovingWords._remove,
        "assistant remove all [and records]",
        "For a game that is to go on without assistants: all of them, their bodies, accounts, "
        "memories and tokens go, after asking; adopted beings stay as they were before. What "
        "calls have cost, lore and the record stay, but by `and records`. It says what is left to "
        "do outside the game. Not over the API.",
    ),
}
