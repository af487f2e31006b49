"""The words `assistant emergency`."""

from __future__ import annotations

from functools import partial

from evennia_ai import operations
from evennia_ai.commands.words import ALL, Word, WordCommand

STOP, CLEAR = "stop", "clear"


class StoppingWords(WordCommand):
    """Stopping at once, and letting go on."""

    def _emergency(self, rest: str) -> None:
        word, _, name = rest.partition(" ")
        word, name = word.casefold(), name.strip()
        if word not in (STOP, CLEAR):
            self.show_how()
        elif name.casefold() == ALL:
            self._all_at_once(word)
        elif (script := self.pick_for(name, f"emergency {word}")) is not None:
            by = str(self.caller.key)
            if word == CLEAR:
                self.show(operations.clear(script, by=by))
            else:
                self.show(operations.stop(script, f"stopped by {by}", by=by))

    def _all_at_once(self, word: str) -> None:
        by = str(self.caller.key)
        if word == CLEAR:
            self.for_all("emergency clear", partial(operations.clear_all, by=by))
            return
        stop = partial(operations.stop_all, reason=f"all were stopped by {by}", by=by)
        self.for_all("emergency stop", stop)


WORDS = {
    "emergency": Word(
        StoppingWords._emergency,
        "assistant emergency stop [<name> | all], assistant emergency clear [<name> | all]",
        "Stops an assistant at once, or all you have a say over, over restarts too: what is under "
        "way is dropped, and whoever waits is told. Clear lets it go on, where it is locked too, "
        "and lets those ask again who have to wait.",
        is_for_all=True,
    ),
}
