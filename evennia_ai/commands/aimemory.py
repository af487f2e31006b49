"""The command `aimemory`: an assistant's memories, for staff."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from evennia_ai import operations
from evennia_ai.commands.base import REVEAL, StaffCommand, Steps, number_of
from evennia_ai.commands.lore_words import LORE, do_lore
from evennia_ai.core.text.words import counted
from evennia_ai.messages.lines import literal
from evennia_ai.operations import AssistantScript
from evennia_ai.operations.conversation.goals import show_notes
from evennia_ai.operations.files.exports import save_known
from evennia_ai.operations.rights.private_words import PrivateView

PAGE = 20
ALL = "all"
KINDS = {
    "facts": "fact",
    "fact": "fact",
    "journal": "journal",
    "insights": "insight",
    "insight": "insight",
}
PERSON = "person"
ADD, CORRECT = "add", "correct"
# Verbs with a text at the end of the line.
TOLD = (ADD, CORRECT)
ASKED = (
    "Should {name} forget {who}? This deletes all memories and notes about them, all "
    "conversation with them, and their name in what others told. It cannot be undone."
)
HOW = (
    "aimemory [<name>], aimemory <name> list [facts | journal | insights] [<page>], "
    "search <words>, person <who>, show <number>, add <text>, correct <number> = <text>, "
    "forget <number>, forget person <who>, export person <who>, journal, profiles [<who>], notes, "
    "reindex, sleep [<hours>], wake; aimemory all forget | export person <who>; aimemory lore"
)


class CmdAiMemory(StaffCommand):
    """
    See what an AI assistant remembers, and look after it.

    Usage:
      aimemory [<name>]                        - how much, and how it is found
      aimemory <name> list [<kind>] [<page>]   - facts, journal or insights
      aimemory <name> search <words>           - memories most similar to them
      aimemory <name> person <who>             - what it remembers of somebody
      aimemory <name> show <number>            - one memory, and why it has it
      aimemory <name> profiles [<who>]         - people it knows, and how well
      aimemory <name> journal | notes          - its journal, its notebook
      aimemory lore                            - lore of the game's world

    These need its lock `ai_memory`, the last one `ai_control`:
      aimemory <name> add <text>               - tell it a fact
      aimemory <name> correct <number> = <text>
      aimemory <name> forget <number> | person <who>
      aimemory <name> export person <who>      - into a file of the game
      aimemory all forget | export person <who>
                                               - the same, of all assistants
      aimemory <name> reindex                  - after a change of embedding model
      aimemory <name> sleep [<hours>] | wake

    These are for owners of the game:
      aimemory lore add [world | room #2 | faction <name>] <word,word> = <text>
      aimemory lore change <number> = <text>
      aimemory lore remove <number>

    What is private to somebody is masked. To see it, add reveal at the end,
    which is recorded: aimemory ada show 12 reveal

    Examples:
      aimemory ada search the lost atlas
      aimemory lore add lamp,lighthouse = The lamp has been dark since spring.
    """

    key = "aimemory"
    how = HOW
    look: PrivateView

    def act(self) -> Steps | None:
        """Run the command."""
        first, _, rest = self.line().partition(" ")
        if first.casefold() == LORE:
            do_lore(self, rest.strip() if "=" in rest else self.look_of(rest.strip())[0])
            return None
        if first.casefold() == ALL:
            return self._of_all(rest)
        script, line = self.whose(self.line(), (*VERBS, REVEAL))
        if script is None:
            return None
        # A text that is stored may end in this word, as anything may be said.
        is_told = line.partition(" ")[0].casefold() in TOLD
        line, self.look = (line, PrivateView.of(self.caller)) if is_told else self.look_of(line)
        word, _, rest = line.partition(" ")
        verb = VERBS.get(word.casefold())
        if verb is None:
            self.show_usage(f"There is no 'aimemory {line}'.")
        elif self.may(verb.right, script) and self.may_look(self.look, script):
            return verb.act(self, script, rest.strip())
        return None

    # ---- looking -------------------------------------------------------------------------------

    def _overview(self, script: AssistantScript, rest: str) -> None:
        self.show_long(operations.memory_status(script).message)

    def _list(self, script: AssistantScript, rest: str) -> None:
        words = rest.casefold().split()
        kind = KINDS.get(words[0], "") if words else ""
        if kind or (words and words[0] in ("all", LORE)):
            word = words.pop(0)
            if word == LORE:
                do_lore(self, "")
                return
        page = number_of(words[0]) if words else 1
        if len(words) > 1 or not page:
            self.show_usage(f"{rest!r} is neither a kind nor a page; pages are numbers from 1 up.")
        else:
            self._show_page(script, kind, page)

    def _show_page(self, script: AssistantScript, kind: str, page: int) -> None:
        after = (page - 1) * PAGE
        result = operations.list_memories(
            script, kind=kind, after=after, limit=PAGE, look=self.look
        )
        if after and after >= result.data.count:
            pages = max(1, -(-result.data.count // PAGE))
            self.show_usage(f"There is no page {page}, only {pages}.")
            return
        more = f"\nMore: aimemory {script.key} list {kind} {page + 1}" if result.data.next else ""
        self.show_long(f"{result.message}{more}")

    def _search(self, script: AssistantScript, rest: str) -> None:
        if not rest:
            self.show_usage("Search for what?")
            return
        self.show_later(operations.search_memories(script, rest, look=self.look))

    def _person(self, script: AssistantScript, rest: str) -> None:
        person = self._who(script, rest)
        if person:
            known = operations.what_is_known(script, person, by=self.by, look=self.look)
            self.show_long(known.message)

    def _who(self, script: AssistantScript, name: str) -> str:
        """The person with a name or an id; "" after an error message to the caller."""
        person = str(operations.find_person(script, name)) if name else ""
        others = ", ".join(operations.namesakes(script, name, person)) if name else ""
        if person and others:
            also = f"{script.key} also met others called {name}; to name one, give the id: {others}"
            self.msg(literal(also))
        elif not person:
            unknown = f"There is no character or object named {name!r}."
            if others:
                unknown = f"{script.key} met several who were called {name}: {others}."
            problem = unknown if name else "About whom?"
            self.show_usage(f"{problem} Give a name, or #12, or *#3 of an account.")
        return person

    def _show(self, script: AssistantScript, rest: str) -> None:
        self.show_long(operations.show_memory(script, rest, look=self.look).message)

    def _journal(self, script: AssistantScript, rest: str) -> None:
        self._list(script, f"journal {rest}".strip())

    def _profiles(self, script: AssistantScript, rest: str) -> None:
        if not rest:
            self.show_long(operations.list_profiles(script).message)
        elif person := self._who(script, rest):
            self.show_long(operations.show_profile(script, person, look=self.look).message)

    def _notes(self, script: AssistantScript, rest: str) -> None:
        if self.expect_nothing(rest):
            self.show_long(show_notes(script, self.caller).message)

    # ---- changing ------------------------------------------------------------------------------

    def _add(self, script: AssistantScript, rest: str) -> None:
        self.show(operations.add_memory(script, rest, by=self.by))

    def _correct(self, script: AssistantScript, rest: str) -> None:
        number, is_there, text = rest.partition("=")
        if not (number.strip() and is_there and text.strip()):
            self.show_usage("Give a number and what is right: correct 12 = <text>")
            return
        self.show(operations.correct_memory(script, number.strip(), text, by=self.by))

    def _forget(self, script: AssistantScript, rest: str) -> Steps | None:
        first, _, who = rest.partition(" ")
        if first.casefold() == PERSON:
            person = self._who(script, who.strip())
            return self._forget_person(script, person, who.strip()) if person else None
        if not first or who:
            self.show_usage("Give a number, or: forget person <who>")
        else:
            self.show(operations.forget_memory(script, first, by=self.by))
        return None

    def _forget_person(self, script: AssistantScript, person: str, who: str) -> Steps:
        question = ASKED.replace("{name}", str(script.key)).replace("{who}", who)
        if not (yield from self.confirm(question)):
            self.msg(literal(f"{script.key} forgets nothing."))
        # During the question the assistant may have been deleted, or the right taken away.
        elif script.pk is not None and self.may("change memories", script):
            self.show(operations.forget_everything(script, person, by=self.by))

    def _export(self, script: AssistantScript, rest: str) -> None:
        first, _, who = rest.partition(" ")
        if first.casefold() != PERSON:
            self.show_usage("About whom? export person <who>")
        elif person := self._who(script, who.strip()):
            self.show(save_known(script, person, by=self.by, look=self.look))

    def _of_all(self, rest: str) -> Steps | None:
        rest, self.look = self.look_of(rest.strip())
        verb, person, who = (*rest.split(None, 2), "", "", "")[:3]
        if verb.casefold() not in ("forget", "export") or person.casefold() != PERSON:
            self.show_usage("Of all: forget person <who>, or export person <who>.")
            return None
        mine = self.find_all(CHANGE)
        if verb.casefold() == "forget":
            return self._all_forget(mine, who)
        for script in mine:
            if self.may_look(self.look, script):
                self._export(script, f"{PERSON} {who}")
        return None

    def _all_forget(self, scripts: list[AssistantScript], who: str) -> Steps:
        person = self._who(scripts[0], who) if scripts else ""
        question = ASKED.replace("{name}", counted(len(scripts), "assistants"))
        if not person:
            return
        if not (yield from self.confirm(question.replace("{who}", who))):
            self.msg("Nothing is forgotten.")
            return
        for script in scripts:
            if script.pk is not None and self.may(CHANGE, script):
                self.show(operations.forget_everything(script, person, by=self.by))
            yield 0  # many would hold up the game

    def _reindex(self, script: AssistantScript, rest: str) -> None:
        if not self.expect_nothing(rest):
            return
        shown = [0]

        def report(done: int, total: int) -> None:
            # Every tenth: reports come for each batch of 16 memories.
            tenth = done * 10 // max(1, total)
            if shown[0] < tenth < 10:
                shown[0] = tenth
                self.msg(f"{done} of {total} are read.")

        self.show_later(operations.reindex_memories(script, report=report))

    def _sleep(self, script: AssistantScript, rest: str) -> None:
        try:
            hours = float(rest) if rest else None
        except ValueError:
            self.show_usage(f"{rest!r} is not a number of hours.")
            return
        self.show(operations.put_to_sleep(script, hours=hours, by=self.by))

    def _wake(self, script: AssistantScript, rest: str) -> None:
        if self.expect_nothing(rest):
            self.show(operations.wake_up(script, by=self.by))


@dataclass(frozen=True, slots=True)
class Verb:
    """A word that may follow the assistant's name.

    Attributes:
        right: name of the required right, in `operations.rights.acts.ACTS`.
        act: called with the command, the assistant, and the rest of the line.
    """

    right: str
    act: Callable[[Any, Any, str], Steps | None]


LOOK, CHANGE, SLEEP = "show memories", "change memories", "sleep"
VERBS = {
    "": Verb(LOOK, CmdAiMemory._overview),
    "list": Verb(LOOK, CmdAiMemory._list),
    "search": Verb(LOOK, CmdAiMemory._search),
    PERSON: Verb(LOOK, CmdAiMemory._person),
    "show": Verb(LOOK, CmdAiMemory._show),
    "journal": Verb(LOOK, CmdAiMemory._journal),
    "profiles": Verb(LOOK, CmdAiMemory._profiles),
    "notes": Verb(LOOK, CmdAiMemory._notes),
    ADD: Verb(CHANGE, CmdAiMemory._add),
    CORRECT: Verb(CHANGE, CmdAiMemory._correct),
    "forget": Verb(CHANGE, CmdAiMemory._forget),
    "export": Verb(CHANGE, CmdAiMemory._export),
    "reindex": Verb(CHANGE, CmdAiMemory._reindex),
    "sleep": Verb(SLEEP, CmdAiMemory._sleep),
    "wake": Verb(SLEEP, CmdAiMemory._wake),
}
