"""The base of all commands: in whose name they act, whom they mean, rights, and showing results."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from difflib import get_close_matches
from typing import Any, TypeVar

from evennia import default_cmds
from evennia.utils.evmore import EvMore
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from evennia_ai import audit, operations
from evennia_ai.commands.tables import broken_rows
from evennia_ai.core.typed_objects import Being
from evennia_ai.messages.lines import literal
from evennia_ai.operations import AssistantScript, Result
from evennia_ai.operations.naming import called, knows_key, name_before
from evennia_ai.operations.result import number_of as whole_number
from evennia_ai.operations.rights import ACTS, Right, is_staff, refusal, seen
from evennia_ai.operations.rights.private_words import Look
from evennia_ai.runtime.names import wording

MOST_NAMES = 20
LEAST_WIDTH = 60
MOST_DIGITS = 9
YES = ("yes", "y")
REVEAL = "reveal"
# Between two looks whether something is over.
LOOK_SECONDS = 0.1
BROKE = "That went wrong"

# Questions, and seconds to wait, as Evennia takes them; what comes back is an answer.
Steps = Generator[str | float, str, None]
T = TypeVar("T")


def number_of(text: str) -> int | None:
    """A whole number as it was typed, or None."""
    return whole_number(text, MOST_DIGITS)


def first_word(line: str) -> tuple[str, str]:
    """The first word of a line, in lower case, and what follows."""
    word, _, rest = line.strip().partition(" ")
    return word.casefold(), rest.strip()


class AssistantCommand(default_cmds.MuxCommand):
    """Base of the commands here: each says in `act` what it does.

    Attributes:
        how: how the line that is being done is typed, told to whoever typed it wrongly.
    """

    help_category = "AI assistant"
    how = ""

    @property
    def by(self) -> str:
        """The caller's name, for the record."""
        return str(self.caller.key)

    @property
    def width(self) -> int:
        """The most characters of a line of a table, as the caller's client says."""
        return max(LEAST_WIDTH, int(self.client_width()))

    def act(self) -> Steps | None:
        """Do what the command is for; a generator asks by `yield` and gets what is answered."""
        raise NotImplementedError

    def func(self) -> Steps | None:
        """Do it. The record says of everything that comes of it who did it, in the game."""
        with self._acting():
            steps = self.act()
        return self._each(steps) if isinstance(steps, Generator) else None

    def _acting(self) -> Any:
        return audit.acting(by=self.by, via="game")

    def _each(self, steps: Steps) -> Steps:
        """The steps of a command that asks; between two of them others act.

        Evennia tells whoever typed a line only of what breaks at its first step.
        """
        answer: Any = None
        is_first = True
        while True:
            with self._acting():
                try:
                    question = steps.send(answer)
                except StopIteration:
                    return
                except Exception as error:
                    if not is_first:
                        self.msg(literal(f"{BROKE}: {error}"))
                    raise
            is_first = False
            answer = yield question

    def waited(self, running: Deferred[T]) -> Generator[float, str, T]:
        """The outcome of something; use it by `yield from`. Meanwhile others act.

        Raises:
            Exception: it broke, as it did.
        """
        outcomes: list[T | Failure] = []
        running.addBoth(outcomes.append)
        while not outcomes:
            # Evennia lets a command wait for seconds or for a line, and for no Deferred.
            yield LOOK_SECONDS
        (outcome,) = outcomes
        if isinstance(outcome, Failure):
            outcome.raiseException()
        return outcome

    def confirmed(self, question: str) -> Generator[str, str, bool]:
        """True where the caller answers yes; use it by `yield from`."""
        answer = yield f"{literal(question)} yes | no"
        return str(answer or "").strip().casefold() in YES

    def confirmed_of(
        self, script: AssistantScript, name: str, question: str
    ) -> Generator[str, str, bool]:
        """The same of a question about an assistant, with its name and its pronouns put in."""
        return self.confirmed(wording(script).fill(question).replace("{name}", name))

    def word_and_rest(self) -> tuple[str, str]:
        """The first word, in lower case, and what follows. Switches count as the first words."""
        return first_word(" ".join([*self.switches, self.args.strip()]))

    def show(self, result: Result) -> None:
        """Tell the caller how it went."""
        self.msg(literal(result.message))

    def show_long(self, text: str) -> None:
        """Show a text page by page, if it is longer than a page."""
        if self.session is None or not self.caller.sessions.count():
            self.msg(literal(text))
        else:
            EvMore(self.caller, literal(text), session=self.session, exit_on_lastpage=True)

    def show_later(self, running: Deferred[Result]) -> None:
        """Tell the caller how it went as soon as it is known, and what broke."""
        running.addCallback(self.show).addErrback(self.show_fault)

    def show_fault(self, failure: Failure, told: str = BROKE) -> None:
        """Tell the caller what broke, and let it be logged."""
        self.msg(literal(f"{told}: {failure.getErrorMessage()}"))
        failure.raiseException()

    def show_how(self, problem: str = "") -> None:
        """Tell the caller what is wrong with a line, and how it is typed."""
        how = f"Usage: {self.how}" if self.how else ""
        self.msg(literal("\n".join(filter(None, (problem, how)))))

    def show_or_how(self, result: Result) -> None:
        """Tell the caller how it went, and where it did not also how it is typed."""
        if result.ok:
            self.show(result)
        else:
            self.show_how(result.message)

    def nothing_more(self, rest: str) -> bool:
        """True where nothing follows, as it should; what does is answered with how it is typed."""
        if rest:
            self.show_how(f"Nothing can follow here, but there is: {rest}")
        return not rest

    def look_of(self, line: str) -> tuple[str, Look]:
        """A line without the word `reveal` at its end, and the look that it asks for."""
        rest, _, last = line.rpartition(" ")
        is_revealing = last.casefold() == REVEAL
        look = Look.of(self.caller, is_revealing=is_revealing)
        return rest.strip() if is_revealing else line, look

    @property
    def is_staff(self) -> bool:
        """True where the caller may do what is for staff."""
        return self.counts_as_staff(self.caller)

    def counts_as_staff(self, person: Being) -> bool:
        """True where a person may do what is for staff.

        A lock `staff` on the command, which a game may add, goes before the game's setting.
        """
        if self._own_staff_lock:
            return bool(self.access(seen(person), "staff"))
        return is_staff(person)

    @property
    def _own_staff_lock(self) -> str:
        return str(self.lockhandler.get("staff") or "")

    def refusal(
        self, act: str, script: AssistantScript | None = None, *, is_staff: bool | None = None
    ) -> Result | None:
        """None where the caller may do an act; else what is missing.

        Args:
            act: a name in `operations.rights.acts.ACTS`.
            is_staff: the caller is, where that is known; Evennia reads the lock anew each time.
        """
        if ACTS[act] is Right.STAFF and (lock := self._own_staff_lock):
            told = f"You may not do that: {act} needs the lock {lock}."
            return None if self.is_staff else Result.forbidden(told)
        counts = self.is_staff if is_staff is None and self._own_staff_lock else is_staff
        return refusal(act, self.caller, script, counts_as_staff=counts)

    def may(self, act: str, script: AssistantScript | None = None) -> bool:
        """True where the caller may do an act; else the caller is told what is missing."""
        refused = self.refusal(act, script)
        if refused is not None:
            self.show(refused)
        return refused is None

    def is_here(self, script: AssistantScript) -> bool:
        """True where an assistant is where the caller is."""
        room = getattr(self.caller, "location", None)
        return room is not None and script.obj is not None and script.obj.location == room

    def pick(self, name: str) -> Any:
        """The assistant of that name; without one the only one there is, or the one in the room.

        Returns:
            The script, or None after telling the caller what to type instead.
        """
        if name.strip():
            script = operations.assistant_for(name, self.caller, operations.find_assistant)
            if script is None:
                told = f"There is no assistant named {name.strip()}.{self._near(name)}"
                self.show_how(f"{told} {self._choices()}")
            return script
        scripts = operations.list_assistants()
        candidates = scripts if len(scripts) == 1 else [s for s in scripts if self.is_here(s)]
        if len(candidates) == 1:
            return candidates[0]
        self.show_how(f"Which assistant? {self._choices()}" if scripts else self._choices())
        return None

    def pick_for(self, name: str, act: str) -> Any:
        """The assistant that `pick` finds, if the caller may do that act to it."""
        script = self.pick(name)
        return script if script is not None and self.may(act, script) else None

    def for_all(self, act: str, do: Callable[[list[AssistantScript]], Deferred[Result]]) -> None:
        """Do an act to all assistants that the caller may do it to; the others are named."""
        scripts = operations.list_assistants()
        if not scripts:
            self.msg(f"There is no assistant to {act.rpartition(' ')[2]}.")
            return
        is_staff = self.is_staff
        refused = {script: self.refusal(act, script, is_staff=is_staff) for script in scripts}
        mine = [script for script, result in refused.items() if result is None]
        if mine:
            self.show_later(do(mine))
        for result in filter(None, refused.values()):
            self.show(result)

    def split_name(self, line: str) -> tuple[Any, str]:
        """The assistant whose name, of however many words, a line begins with, and the rest.

        Returns:
            None and the whole line where it begins with no assistant's name.
        """
        names = self._named()
        # The longest first: Ada must not take a line that begins with Ada Smith.
        for count in range(max((name.count(" ") + 1 for name in names), default=0), 0, -1):
            words = line.split(None, count)
            script = names.get(" ".join(words[:count]).casefold())
            if script is not None:
                return script, words[count].strip() if len(words) > count else ""
        return None, line

    def whose(self, line: str, verbs: tuple[str, ...]) -> tuple[Any, str]:
        """The assistant that a line names, and the line without the name.

        It stands first, or after the first word, where that was typed as a switch. Without any
        name the only assistant is meant, or the one in the room.

        Args:
            verbs: what may stand where a name could.

        Returns:
            None and the line after telling the caller what to type instead.
        """
        script, rest = self.split_name(line)
        if script is not None:
            return script, rest
        first, _, more = line.partition(" ")
        if first.casefold() not in ("", *verbs):
            return self.pick(first), ""
        script, more = self.split_name(more)
        return (script, f"{first} {more}".strip()) if script is not None else (self.pick(""), line)

    def name_of(self, script: AssistantScript) -> str:
        """The name of an assistant before the caller."""
        return name_before(script, self.caller)

    def _named(self) -> dict[str, AssistantScript]:
        """The assistants by all that the caller may call them in front of a line."""
        found: dict[str, AssistantScript] = {}
        for script in operations.list_assistants():
            known = [str(script.key)] if knows_key(script, self.caller) else []
            for name in known or called(script.obj, self.caller):
                found.setdefault(name.casefold(), script)
        return found

    def _near(self, name: str) -> str:
        keys = {known.casefold(): known for known in map(self.name_of, self._shown())}
        near = get_close_matches(name.strip().casefold(), keys, n=3)
        return f" Did you mean {' or '.join(keys[key] for key in near)}?" if near else ""

    def _shown(self) -> list[Any]:
        """The assistants that the caller is told of: those that it sees, and those it knows."""
        listed = self._listed()
        return [each for each in listed if knows_key(each, self.caller) or self.is_here(each)]

    def _choices(self) -> str:
        names = list(map(self.name_of, self._shown()))
        if not names and self._listed():
            return "None is here."
        if not names:
            return "There are none yet: assistant create <name>"
        more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
        return f"There are: {', '.join(names[:MOST_NAMES])}{more}."

    def _listed(self) -> list[Any]:
        return list(operations.list_assistants())


class StaffCommand(AssistantCommand):
    """Base of the commands that only staff have: for others they are neither there nor in help."""

    locks = "cmd:all()"

    def access(self, srcobj: Being, *args: Any, **kwargs: Any) -> bool:
        """True where somebody has the command: EVENNIA_AI_STAFF_LOCK says who is staff."""
        return bool(super().access(srcobj, *args, **kwargs)) and is_staff(srcobj)

    def line(self) -> str:
        """All that was typed; switches count as the first words."""
        return " ".join([*self.switches, self.args.strip()]).strip()

    def show_table(
        self,
        title: str,
        head: Sequence[str],
        rows: Iterable[Sequence[object]],
        foot: str = "",
        *,
        wide: int,
    ) -> None:
        """Show rows of plain cells, a screen at a time.

        Args:
            wide: the column whose cells are broken where a row is too long for the client.
        """
        shown = broken_rows(head, rows, wide, self.client_width())
        self.show_long("\n".join(filter(None, (title, shown, foot))))
