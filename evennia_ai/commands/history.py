"""The command `history`: an assistant's conversation."""

from __future__ import annotations

from evennia_ai import operations
from evennia_ai.commands.base import StaffCommand, Steps, number_of
from evennia_ai.messages.lines import literal
from evennia_ai.operations import AssistantScript
from evennia_ai.operations.conversation import talk
from evennia_ai.operations.files.exports import save_history
from evennia_ai.operations.rights.private_words import PrivateView

MOST_SHOWN = 20
WORDS = ("show", "export", "reset")
WITH_MEMORIES = ("all", "with memories")
ASKED = (
    "Should {name} start over? Besides {their} conversation, this deletes all memories: facts, "
    "journal, people, notes and projects. It cannot be undone."
)


class CmdHistory(StaffCommand):
    """
    See an AI assistant's conversation, export it, or start it anew.

    Usage:
      history [<name>] [show [<page>]] - what is in it, the newest on page 1
      history <name> export            - write it into a file of the game
      history <name> show 2 reveal     - with private words, which is recorded
      history reset [<name>]           - start a new conversation
      history reset <name> all         - the same, and forget all memories

    At a reset what was said so far is forgotten, what is under way is dropped,
    and an emergency stop is cleared. What it remembers beside its conversation
    stays (see help aimemory), unless you add `all` or `with memories`, which
    asks. Export and reset need its lock `ai_memory`.

    Examples:
      history ada show 2
      history reset ada
    """

    key = "history"
    aliases = ("aihistory",)
    how = (
        "history [<name>] [show [<page>]], history <name> export, history reset [<name>], "
        "history reset <name> all"
    )

    def act(self) -> Steps | None:
        """Run the command."""
        line, look = self.look_of(self.line())
        script, rest = self.whose(line, WORDS)
        if script is None or not self.may_look(look, script):
            return None
        word, _, more = rest.casefold().partition(" ")
        if word == "reset" and not more and self.may("reset history", script):
            self.show(operations.reset_history(script, by=self.by))
        elif word == "reset" and more.strip() in WITH_MEMORIES:
            if self.may("reset history", script) and self.may("change memories", script):
                return self._reset_all(script)
        elif word == "export" and not more and self.may("export history", script):
            self.show(save_history(script, look=look))
        elif word in ("", "show"):
            self._show(script, more.strip(), look)
        elif word not in WORDS or more:
            self.show_usage(f"There is no 'history {rest}'.")
        return None

    def _reset_all(self, script: AssistantScript) -> Steps:
        name = str(script.key)
        if not (yield from self.confirm_about(script, name, ASKED)):
            self.msg(literal(f"{name} forgets nothing, and goes on with the conversation."))
        # During the question the assistant may have been deleted, or the right taken away.
        elif script.pk is not None and self.may("change memories", script):
            self.show(operations.reset_history(script, by=self.by))
            self.show(operations.forget_all(script, by=self.by))

    def _show(self, script: AssistantScript, page: str, look: PrivateView) -> None:
        number = number_of(page) if page else 1
        if not number:
            self.show_usage(f"{page!r} is not a page; pages are numbers from 1 up.")
        elif self.may("show history", script):
            self._show_page(script, number, look)

    def _show_page(self, script: AssistantScript, page: int, look: PrivateView) -> None:
        count = talk.show_history(script, limit=1).data["count"]
        pages = max(1, -(-count // MOST_SHOWN))  # rounded up
        if page > pages:
            problem = f"There is no page {page} of {script.key}'s conversation, only {pages}."
            self.show_usage(problem)
            return
        before = count - (page - 1) * MOST_SHOWN + 1
        result = talk.show_history(script, before=before, limit=MOST_SHOWN, look=look)
        self.show_long(result.message)
