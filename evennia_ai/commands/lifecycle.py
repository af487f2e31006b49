"""The subcommands of `assistant` that create, clone, adopt, start, stop and delete assistants."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from evennia_ai import operations
from evennia_ai.commands.base import Steps, first_word
from evennia_ai.commands.creation import open_creation
from evennia_ai.commands.words import ALL, WordCommand, subcommand
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.messages.lines import literal
from evennia_ai.operations import AssistantScript, Result
from evennia_ai.operations.assistants import lifecycle, removing
from evennia_ai.operations.assistants.creation import BODY

AND_RECORDS = "all and records"
STOP, CLEAR = "stop", "clear"
LONGEST_REASON = 500  # characters
DELETED = (
    "Delete {name}? {Their} body, account, persona, conversation, notes and goals are lost. "
    "Unfinished work is dropped, and people who wait for {them} are told. {Their} audit log is "
    "kept as a file; you will be told where."
)
RELEASED = (
    "Release {name}? {body} stays as it was before it was adopted. What {name} knows, its "
    "conversation, notes and goals are lost. Unfinished work is dropped, and people who wait for "
    "it are told. Its audit log is kept as a file; you will be told where."
)


class LifecycleWords(WordCommand):
    """The subcommands about the life cycle of assistants."""

    @subcommand(
        "assistant create, assistant create <name>[:<typeclass>] [= <who it is, in a few words>]",
        "Without a name it asks step by step: name, body, look, character, model. With a name it "
        "makes one at once, where you stand. A typeclass is a body of your own, as in "
        "Brick:typeclasses.golems.Golem; without one it is the game's own character class.",
        also="init",
    )
    def _create(self, rest: str) -> None:
        if not self.may("create"):
            return
        if not rest:
            open_creation(self.caller, self.session)
            return
        name, _, persona = rest.partition("=")
        if not name.strip():
            self.show_usage("An assistant needs a name.")
            return
        name, _, typeclass = name.partition(":")
        location = getattr(self.caller, "location", None)
        result = operations.create_assistant(
            name,
            location=location,
            persona=persona.strip(),
            typeclass=typeclass.strip() or BODY,
            maker=self.caller,
        )
        self.show(result)

    @subcommand(
        "assistant clone <name> = <new name>",
        "Makes another one with the same settings, prompts and look. What the first one knows and "
        "said stays with it.",
    )
    def _clone(self, rest: str) -> None:
        name, _, new = rest.partition("=")
        if not (name.strip() and new.strip()):
            self.show_usage()
            return
        script = self.pick_for(name, "clone")
        if script is not None and self.may("create"):
            location = getattr(self.caller, "location", None)
            result = lifecycle.clone_assistant(
                script, new.strip(), location=location, by=self.by, person=self.caller
            )
            self.show(result)

    @subcommand(
        "assistant delete <name>",
        "Deletes an assistant for good, after asking. Its audit log is kept as a file.",
    )
    def _delete(self, name: str) -> Steps:
        script = self._pick_to_end(name, "delete")
        if script is not None:
            yield from self._confirm_and_end(script, "delete", DELETED, lifecycle.delete_assistant)

    @subcommand(
        "assistant release <name>",
        "Turns an adopted being back into what it was, after asking. What the assistant knew is "
        "lost; its audit log is kept as a file.",
    )
    def _release(self, name: str) -> Steps:
        script = self._pick_to_end(name, "release")
        if script is None:
            return
        # Before asking, so that nobody confirms what cannot be done.
        if refused := operations.refuse_release(script):
            self.show(refused)
        else:
            question = RELEASED.replace("{body}", str(script.obj.key))
            yield from self._confirm_and_end(script, "release", question, operations.release)

    def _pick_to_end(self, name: str, act: str) -> Any:
        """The assistant to delete or release. A name is required, even if there is only one."""
        if name.strip():
            return self.pick_for(name, act)
        self.show_usage(f"Which assistant should be {act}d?")
        return None

    def _confirm_and_end(
        self, script: AssistantScript, act: str, question: str, end: Callable[..., Result]
    ) -> Steps:
        key = str(script.key)
        if not (yield from self.confirm_about(script, key, question)):
            self.msg(literal(f"{key} stays as it was."))
        # Found again: during the question it may have been deleted, or the right taken away.
        elif self.pick_for(key, act) == script:
            self.show(end(script, by=self.by))

    @subcommand(
        "assistant adopt <character or thing> [= <name>]",
        "Turns a character or thing of the game into an assistant, without changing what it is: "
        "class, name, look, locks and all. With the name of an assistant that has lost its body, "
        "that one goes on in this body.",
    )
    def _adopt(self, rest: str) -> None:
        if not self.may("adopt"):
            return
        being, _, name = rest.partition("=")
        if not being.strip():
            self.show_usage("Which character or thing should become an assistant?")
            return
        result = operations.find_npc(self.caller, being)
        if result.ok:
            result = operations.adopt(result.data, name.strip(), person=self.caller)
        self.show(result)

    @subcommand(
        "assistant start [<name> | all]", "Lets it answer, or all assistants that you may start."
    )
    def _start(self, name: str) -> None:
        self._enable(name, "start", enabled=True)

    @subcommand(
        "assistant stop [<name> | all]",
        "Keeps it, or all assistants that you may stop, silent until started again; waiting "
        "messages are kept. To stop it in the middle of something: assistant emergency stop",
    )
    def _stop(self, name: str) -> None:
        self._enable(name, "stop", enabled=False)

    def _enable(self, name: str, act: str, *, enabled: bool) -> None:
        if name.strip().casefold() == ALL:
            self.for_all(act, partial(operations.set_all_enabled, enabled=enabled, by=self.by))
        elif (script := self.pick_for(name, act)) is not None:
            self.show(operations.set_enabled(script, enabled, by=self.by))

    @subcommand(
        "assistant remove all [and records]",
        "For a game that should go on without assistants: deletes all of them with their bodies, "
        "accounts, memories and tokens, after asking; adopted beings become what they were before. "
        "The costs of calls, lore and the audit log stay, unless you add `and records`. It tells "
        "you what is left to do outside the game. Not available over the API.",
    )
    def _remove(self, rest: str) -> Steps:
        if not self.may("remove all"):
            return
        words = " ".join(rest.casefold().split())
        if words not in (ALL, AND_RECORDS):
            self.show_usage(
                "This removes all assistants at once. To remove one: assistant delete <name>, or "
                "assistant release <name> if it was adopted."
            )
            return
        belongings, and_records = removing.belongings(), words == AND_RECORDS
        if refused := removing.refuse_removal(belongings):
            self.show(refused)
            return
        question = removing.describe_removal(belongings, and_records=and_records)
        if not (yield from self.confirm(question)):
            self.msg("Nothing is removed.")
            return
        # Again: the right may have been taken away during the question.
        if self.may("remove all"):
            self.show(removing.remove_all(by=self.by, and_records=and_records))

    @subcommand(
        "assistant emergency stop [<name> | all] [<reason>], assistant emergency clear [<name> | "
        "all]",
        "Stops an assistant at once, or all that you may stop, also across restarts: unfinished "
        "work is dropped, and people who wait are told. Clear lets it go on, even if it locked "
        "itself, and lets people who have to wait ask again.",
        is_for_all=True,
    )
    def _emergency(self, rest: str) -> None:
        word, name = first_word(rest)
        if word not in (STOP, CLEAR):
            self.show_usage()
        elif word == STOP:
            self._emergency_stop(name)
        elif name.casefold() == ALL:
            self.for_all("emergency clear", partial(operations.clear_all, by=self.by))
        elif (script := self.pick_for(name, "emergency clear")) is not None:
            self.show(operations.clear(script, by=self.by))

    def _emergency_stop(self, rest: str) -> None:
        """Stop one or all. Further words are the reason: no stop may fail because of them."""
        script, reason = self.split_name(rest)
        word, more = first_word(rest)
        is_all = script is None and word == ALL
        if is_all:
            reason = more
        elif script is None:
            script, reason = self.pick(rest), ""
        default = f"{'all were ' if is_all else ''}stopped by {self.by}"
        reason = one_line(reason, LONGEST_REASON).strip("= ") or default
        if is_all:
            stop = partial(operations.stop_all, reason=reason, by=self.by)
            self.for_all("emergency stop", stop)
        elif script is not None and self.may("emergency stop", script):
            self.show(operations.stop(script, reason, by=self.by))
