"""What is typed after `assistant emergency`."""

from __future__ import annotations

from evennia_ai import operations
from evennia_ai.commands.words import Word, WordCommand

ALL = "all"
STOP, CLEAR = "stop", "clear"


class StoppingWords(WordCommand):
    """Stopping at once, and letting go on."""

    def _emergency(self, rest: str) -> None:
        word, _, name = rest.partition(" ")
        word, name = word.casefold(), name.strip()
        if word not in (STOP, CLEAR):
            self.show_how()
        elif word == STOP and name.casefold() == ALL:
            self._stop_all()
        elif (script := self.pick_for(name, f"emergency {word}")) is not None:
            by = str(self.caller.key)
            if word == CLEAR:
                self.show(operations.clear(script, by=by))
            else:
                self.show(operations.stop(script, f"stopped by {by}", by=by))

    def _stop_all(self) -> None:
        """Stop all that the caller has a say over, and name the others."""
        scripts = operations.list_assistants()
        if not scripts:
            self.msg("There is no assistant to stop.")
            return
        refused = {script: self.refusal("emergency stop", script) for script in scripts}
        mine = [script for script, result in refused.items() if result is None]
        by = str(self.caller.key)
        if mine:
            self.show(operations.stop_all(mine, f"all were stopped by {by}", by=by))
        for result in filter(None, refused.values()):
            self.show(result)


WORDS = {
    "emergency": Word(
        StoppingWords._emergency,
        "assistant emergency stop [<name>] | stop all, assistant emergency clear [<name>]",
        "Stops an assistant at once, or all you have a say over, over restarts too: what is under "
        "way is dropped, and whoever waits is told. Clear lets her go on, where she is locked too, "
        "and lets those ask again who have to wait.",
        is_for_all=True,
    ),
}
