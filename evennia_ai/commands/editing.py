"""Editing an assistant's longer texts in Evennia's line editor.

The editor survives a reload of the game. Rights are checked again at each save.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from evennia.utils.eveditor import EvEditor

from evennia_ai import audit
from evennia_ai.core.typed_objects import Being
from evennia_ai.messages.lines import literal
from evennia_ai.operations import AssistantScript
from evennia_ai.operations.models.texts import set_text, text_of
from evennia_ai.operations.result import Result
from evennia_ai.operations.rights import refusal

ACT = "configure"
KEPT = "Your text is still in the editor: correct it, or type :q! to leave without saving."
# Id of the assistant's script, kind of text, and key of the text. Picklable, unlike a script.
Target = tuple[int, str, str]


class PersistingEditor(EvEditor):
    """An editor that stays open if `:wq` cannot save."""

    is_refused = False

    def get_buffer(self) -> str:
        """The text. Also forgets an earlier refusal."""
        # Every command of the editor starts by reading the buffer.
        self.is_refused = False
        return str(super().get_buffer())

    def save_buffer(self) -> None:
        """Save the text, and note whether that was refused."""
        super().save_buffer()
        self.is_refused = bool(self._unsaved)

    def quit(self) -> None:
        """Leave, unless the same command failed to save."""
        if not self.is_refused:
            super().quit()


def open_editor(caller: Being, script: AssistantScript, what: str, key: str | None = None) -> bool:
    """Open an editor for a text of an assistant, or tell the caller why not.

    Args:
        what, key: see `operations.models.texts.text_of`.

    Returns:
        Whether it is open.
    """
    text = refusal(ACT, caller, script) or text_of(script, what, key or "")
    if not text.ok:
        caller.msg(literal(text.message))
        return False
    target: Target = (script.pk, what, key or "")
    PersistingEditor(
        caller,
        loadfunc=partial(_load, target),
        savefunc=partial(_save, target),
        quitfunc=_quit,
        key=literal(text.message),
        # Evennia pickles the functions, so they are module-level ones and partials of them.
        persistent=True,
    )
    return True


def _script_of(target: Target) -> Any:
    return AssistantScript.objects.filter(pk=target[0]).first()


def _load(target: Target, caller: Being) -> str:
    # After a reload, Evennia restores a persistent editor with its own class.
    caller.ndb._eveditor.__class__ = PersistingEditor
    script = _script_of(target)
    if script is None:
        return ""
    text = text_of(script, *target[1:])
    return text.data.text if text.ok else ""


def _save(target: Target, caller: Being, text: str) -> bool:
    """Save the text if the caller still has the right. Returns whether it was saved."""
    script = _script_of(target)
    gone = Result.not_found("That assistant is gone; nothing is saved.")
    result = _save_text(script, target, caller, text) if script is not None else gone
    caller.msg(literal(result.message if result.ok else f"{result.message} {KEPT}"))
    return result.ok


def _save_text(script: AssistantScript, target: Target, caller: Being, text: str) -> Result:
    if refused := refusal(ACT, caller, script):
        return refused
    by = str(caller.key)
    with audit.acting(by=by, via="game"):
        return set_text(script, target[1], target[2], text, by=by)


def _quit(caller: Being) -> None:
    caller.msg("Left the editor.")
