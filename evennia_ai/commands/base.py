"""The base of all commands: attribution, finding assistants, rights, and showing results."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from difflib import get_close_matches
from typing import Any, TypeVar

from evennia import default_cmds
from evennia.utils import logger
from evennia.utils.evmore import EvMore
from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from evennia_ai import audit, operations
from evennia_ai.agent import outages
from evennia_ai.commands.tables import broken_rows
from evennia_ai.core.text.words import first_few
from evennia_ai.core.typed_objects import Being
from evennia_ai.messages.lines import literal
from evennia_ai.operations import AssistantScript, Result
from evennia_ai.operations.naming import begun, called, knows_key, name_before
from evennia_ai.operations.result import number_of as whole_number
from evennia_ai.operations.rights import ACTS, Right, find_all_allowed, is_staff, refusal, seen
from evennia_ai.operations.rights.private_words import PrivateView
from evennia_ai.runtime.names import wording

MOST_NAMES = 20
LEAST_WIDTH = 60
MOST_DIGITS = 9
YES, NO = ("yes", "y"), ("no", "n", "")
REVEAL = "reveal"
# Polling interval in `wait_for`.
LOOK_SECONDS = 0.1
BROKE = "That went wrong"

# A generator that yields questions to the caller, or seconds to wait, and is sent the answers.
Steps = Generator[str | float, str, None]
T = TypeVar("T")


def number_of(text: str) -> int | None:
    """Parse a whole number, or return None."""
    return whole_number(text, MOST_DIGITS)


def first_word(line: str) -> tuple[str, str]:
    """The first word of a line, in lower case, and the rest."""
    word, _, rest = line.strip().partition(" ")
    return word.casefold(), rest.strip()


class AssistantCommand(default_cmds.MuxCommand):
    """The base of the commands, which implement `act`.

    Attributes:
        how: usage of the current command or subcommand, for error messages.
    """

    help_category = "AI assistant"
    how = ""

    @property
    def by(self) -> str:
        """The caller's name, for the audit log."""
        return str(self.caller.key)

    @property
    def width(self) -> int:
        """The width of tables in characters, according to the caller's client."""
        return max(LEAST_WIDTH, int(self.client_width()))

    def act(self) -> Steps | None:
        """Run the command. A generator can ask questions with `yield`, which returns the answer."""
        raise NotImplementedError

    def func(self) -> Steps | None:
        """Run `act`, and attribute its audit events to the caller."""
        try:
            with self._attributed():
                steps = self.act()
        except outages.DATABASE_ERRORS as error:
            logger.log_trace()
            self.msg(literal(f"{BROKE}: {outages.describe_error(error)}."))
            return None
        return self._run_steps(steps) if isinstance(steps, Generator) else None

    def _attributed(self) -> Any:
        return audit.acting(by=self.by, via="game")

    def _run_steps(self, steps: Steps) -> Steps:
        # The attribution is a context variable, so it is set for each step and not across a
        # `yield`, where other commands run.
        answer: Any = None
        is_first = True
        while True:
            with self._attributed():
                try:
                    question = steps.send(answer)
                except StopIteration:
                    return
                except Exception as error:
                    # Evennia only reports errors of the first step to the caller.
                    if not is_first:
                        self.msg(literal(f"{BROKE}: {error}"))
                    raise
            is_first = False
            answer = yield question

    def wait_for(self, running: Deferred[T]) -> Generator[float, str, T]:
        """Wait for a Deferred without blocking the game. Use with `yield from`.

        Raises:
            Exception: the Deferred's failure.
        """
        outcomes: list[T | Failure] = []
        running.addBoth(outcomes.append)
        while not outcomes:
            # A command of Evennia's can yield seconds or a prompt, but not a Deferred.
            yield LOOK_SECONDS
        (outcome,) = outcomes
        if isinstance(outcome, Failure):
            outcome.raiseException()
        return outcome

    def confirm(self, question: str) -> Generator[str, str, bool]:
        """Ask the caller a yes-or-no question. Use with `yield from`.

        Any other line counts as no, and is then run as a command.
        """
        line = yield f"{literal(question)} yes | no"
        answer = str(line or "").strip()
        if answer.casefold() not in (*YES, *NO):
            # Later, so that the caller first reads that nothing was done.
            reactor.callLater(0, self.caller.execute_cmd, answer, session=self.session)
        return answer.casefold() in YES

    def confirm_about(
        self, script: AssistantScript, name: str, question: str
    ) -> Generator[str, str, bool]:
        """Ask a question about an assistant, after filling in its name and pronouns."""
        return self.confirm(wording(script).fill(question).replace("{name}", name))

    def word_and_rest(self) -> tuple[str, str]:
        """The first word, in lower case, and the rest. Switches count as the first words."""
        return first_word(" ".join([*self.switches, self.args.strip()]))

    def show(self, result: Result) -> None:
        """Show a result's message to the caller."""
        self.msg(literal(result.message))

    def show_long(self, text: str) -> None:
        """Show a text, page by page if it is longer than a page."""
        # EvMore waits for input, which only a session of the caller's can give.
        if self.session is None or not self.caller.sessions.count():
            self.msg(literal(text))
        else:
            EvMore(self.caller, literal(text), session=self.session, exit_on_lastpage=True)

    def show_later(self, running: Deferred[Result]) -> None:
        """Show the message of a result, or of an error, once it is there."""
        running.addCallback(self.show).addErrback(self.show_fault)

    def show_fault(self, failure: Failure, message: str = BROKE) -> None:
        """Show an error to the caller, and raise it again so that it is logged."""
        self.msg(literal(f"{message}: {failure.getErrorMessage()}"))
        failure.raiseException()

    def show_usage(self, problem: str = "") -> None:
        """Show the problem with a line and the usage."""
        how = f"Usage: {self.how}" if self.how else ""
        self.msg(literal("\n".join(filter(None, (problem, how)))))

    def show_or_usage(self, result: Result) -> None:
        """Show a result's message; after a failure with the usage."""
        if result.ok:
            self.show(result)
        else:
            self.show_usage(result.message)

    def expect_nothing(self, rest: str) -> bool:
        """True if the rest of the line is empty; otherwise show the usage."""
        if rest:
            self.show_usage(f"Leave this out: {rest}")
        return not rest

    def look_of(self, line: str) -> tuple[str, PrivateView]:
        """Remove the word `reveal` from the end of a line; also returns the look it asks for."""
        rest, _, last = line.rpartition(" ")
        is_revealing = last.casefold() == REVEAL
        look = PrivateView.of(self.caller, is_revealing=is_revealing)
        return rest.strip() if is_revealing else line, look

    def may_look(self, look: PrivateView, script: AssistantScript) -> bool:
        """True unless a look reveals private words without the right; the caller is told then."""
        return not look.is_revealing or self.may("reveal", script)

    @property
    def is_staff(self) -> bool:
        """True if the caller counts as staff."""
        return self.counts_as_staff(self.caller)

    def counts_as_staff(self, person: Being) -> bool:
        """True if a person counts as staff.

        A lock `staff` on the command, which a game may add, takes precedence over the setting.
        """
        if self._own_staff_lock:
            return bool(self.access(seen(person), "staff"))
        return is_staff(person)

    @property
    def _own_staff_lock(self) -> str:
        return str(self.lockhandler.get("staff") or "")

    def may(self, act: str, script: AssistantScript | None = None) -> bool:
        """True if the caller has the right to an act; otherwise tell the caller what is missing.

        Args:
            act: name of the act, in `operations.rights.acts.ACTS`.
        """
        # With its own message: that of the operations would name the lock of the setting.
        if ACTS[act] is Right.STAFF and (lock := self._own_staff_lock):
            message = f"You may not do that: {act} needs the lock {lock}."
            refused = None if self.is_staff else Result.forbidden(message)
        else:
            refused = refusal(act, self.caller, script, counts_as_staff=self.is_staff)
        if refused is not None:
            self.show(refused)
        return refused is None

    def is_here(self, script: AssistantScript) -> bool:
        """True if an assistant is in the caller's room."""
        room = getattr(self.caller, "location", None)
        return room is not None and script.obj is not None and script.obj.location == room

    def pick(self, name: str) -> Any:
        """Find an assistant by name; without a name, the only one in the game or in the room.

        Returns:
            The script, or None after an error message to the caller.
        """
        if name.strip():
            script = operations.assistant_for(name, self.caller, operations.find_assistant)
            if script is None and len(near := begun(name, self.caller, self._visible())) == 1:
                return near[0]
            if script is None:
                message = f"There is no assistant named {name.strip()}.{self._suggestions(name)}"
                self.show_usage(f"{message} {self._choices()}")
            return script
        scripts = operations.list_assistants()
        candidates = scripts if len(scripts) == 1 else [s for s in scripts if self.is_here(s)]
        if len(candidates) == 1:
            return candidates[0]
        self.show_usage(f"Which assistant? {self._choices()}" if scripts else self._choices())
        return None

    def pick_for(self, name: str, act: str) -> Any:
        """Find an assistant with `pick`, and check the right to an act on it."""
        script = self.pick(name)
        return script if script is not None and self.may(act, script) else None

    def for_all(self, act: str, do: Callable[[list[AssistantScript]], Deferred[Result]]) -> None:
        """Run an operation on all assistants that the caller has the right to; name the others."""
        if mine := self.find_all(act):
            self.show_later(do(mine))

    def find_all(self, act: str) -> list[AssistantScript]:
        """All assistants that the caller has the right to; the others are named."""
        mine, refusals = find_all_allowed(act, self.caller, counts_as_staff=self.is_staff)
        if not (mine or refusals):
            self.msg("There is no assistant yet.")
        for _, result in refusals:
            self.show(result)
        return mine

    def split_name(self, line: str) -> tuple[Any, str]:
        """The assistant whose name a line begins with, and the rest of the line.

        Returns:
            None and the whole line if it does not begin with an assistant's name.
        """
        names = self._by_name()
        # The longest names first: "Ada Smith" must not match an assistant called Ada.
        for count in range(max((name.count(" ") + 1 for name in names), default=0), 0, -1):
            words = line.split(None, count)
            script = names.get(" ".join(words[:count]).casefold())
            if script is not None:
                return script, words[count].strip() if len(words) > count else ""
        return None, line

    def whose(
        self, line: str, verbs: tuple[str, ...], alone: tuple[str, ...] = ()
    ) -> tuple[Any, str]:
        """The assistant that a line names, and the line without the name.

        The name comes first, or second if the first word was typed as a switch. Without a name, it
        is the only assistant in the game or in the room.

        Args:
            verbs: words that may come first instead of a name.
            alone: those of them that nothing but a name can follow.

        Returns:
            None and the line, after an error message to the caller.
        """
        script, rest = self.split_name(line)
        if script is not None:
            return script, rest
        first, _, more = line.partition(" ")
        if first.casefold() in alone:
            return self.pick(more), first
        if first.casefold() not in ("", *verbs):
            return self.pick(first), more.strip()
        script, more = self.split_name(more)
        return (script, f"{first} {more}".strip()) if script is not None else (self.pick(""), line)

    def name_of(self, script: AssistantScript) -> str:
        """The name by which the caller sees an assistant."""
        return name_before(script, self.caller)

    def _by_name(self) -> dict[str, AssistantScript]:
        """The assistants by each name that the caller may use."""
        scripts: dict[str, AssistantScript] = {}
        for script in operations.list_assistants():
            known = [str(script.key)] if knows_key(script, self.caller) else []
            for name in known or called(script.obj, self.caller):
                scripts.setdefault(name.casefold(), script)
        return scripts

    def _suggestions(self, name: str) -> str:
        keys = {known.casefold(): known for known in map(self.name_of, self._visible())}
        near = get_close_matches(name.strip().casefold(), keys, n=3)
        return f" Did you mean {' or '.join(keys[key] for key in near)}?" if near else ""

    def _visible(self) -> list[Any]:
        """The assistants to name in messages: those in the room, and those the caller knows."""
        # Others may be hidden behind a description; a message must not give them away.
        scripts = operations.list_assistants()
        return [each for each in scripts if knows_key(each, self.caller) or self.is_here(each)]

    def _choices(self) -> str:
        names = list(map(self.name_of, self._visible()))
        if not names and operations.list_assistants():
            return "No assistant is here."
        if not names:
            return "There are none yet: assistant create <name>"
        return f"There are: {first_few(names, MOST_NAMES)}."


class StaffCommand(AssistantCommand):
    """The base of commands for staff, which others neither have nor find in help."""

    locks = "cmd:all()"

    def access(self, srcobj: Being, *args: Any, **kwargs: Any) -> bool:
        """True if a person has the command, as EVENNIA_AI_STAFF_LOCK says."""
        return bool(super().access(srcobj, *args, **kwargs)) and is_staff(srcobj)

    def line(self) -> str:
        """The whole line; switches count as the first words."""
        return " ".join([*self.switches, self.args.strip()]).strip()

    def show_table(
        self, title: str, head: Sequence[str], rows: Iterable[Sequence[object]], foot: str
    ) -> None:
        """Show a table, a screen at a time; its third column is wrapped where a row is too long."""
        table = broken_rows(head, rows, 2, self.client_width())
        self.show_long("\n".join(filter(None, (title, table, foot))))
