"""Requests of peers in the game's thread: who may come in, what is asked, and how it stands."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from evennia.utils.ansi import strip_ansi
from twisted.internet.defer import Deferred

from evennia_ai import audit
from evennia_ai.api.a2a.snapshots import Happening, TaskSnapshot, happening, snapshot
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.settings.services import A2aConfig
from evennia_ai.core.text.cleaning import one_line
from evennia_ai.core.typed_objects import Account
from evennia_ai.models import PeerEvent, PeerHook, PeerTask, TokenScope
from evennia_ai.operations import Result
from evennia_ai.operations.naming import list_assistants
from evennia_ai.operations.peers import answers, tasks
from evennia_ai.operations.peers.tasks import Given
from evennia_ai.operations.result import ProblemKind
from evennia_ai.operations.rights import callers, token_store, tokens
from evennia_ai.operations.tools.running import list_tools
from evennia_ai.tasks import peer_store

VIA = "a2a"
SCHEMES = ("bearer", "token")
WHO = "Say who you are: send `Authorization: Bearer <token>`."
BAD_TOKEN = "This token is worth nothing."
ONLY_READS = "With this token one can only read; whoever owns it can make another."
NO_ASSISTANT = "There is no assistant {key!r} here that agents elsewhere may ask."
LONGEST_TOKEN = 128
MOST_SKILLS = 50
# So long whoever was let in is not looked at again.
FRESH_SECONDS = 2.0
MOST_HOOK_TEXT, MOST_SCHEME = 2_000, 64
NO_HOOKS = "This game tells no address of tasks: hooks_per_task is 0 in EVENNIA_AI_A2A_CONFIG."
TOO_MANY_HOOKS = "Task {task} tells {count} addresses already; take one out first."
LONG_HOOK = "The {field} of an address has at most {most} characters, not {count}."
BAD_HOOK = "The {field} of an address is shown in a header: it has printable characters only."
BAD_NAME = "An address has a name of at most 64 characters, not {name!r}."
NAME = re.compile(r"[\x21-\x7e]{1,64}")
T = TypeVar("T")


class CallRefusedError(Exception):
    """Something is not done; the text says why.

    Attributes:
        problem: of what kind; FORBIDDEN with `is_stranger` where nobody knows who asks.
    """

    def __init__(self, problem: ProblemKind, text: str, *, is_stranger: bool = False) -> None:
        super().__init__(text)
        self.problem = problem
        self.is_stranger = is_stranger


@dataclass(frozen=True, slots=True)
class A2aCaller:
    """Whoever sent a request, by their token.

    Attributes:
        pk: number of the account.
        address: where they are.
        token: number of the token that they sent.
        may_change: they may do more than read.
        account: as it was when it was let in; touched in the game's thread only.
        at: when that was, on the clock that never goes back.
    """

    pk: int
    address: str
    token: int
    may_change: bool
    account: Account = field(repr=False, compare=False)
    at: float = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts of a card: an assistant and its skills, as a stranger may know them."""

    key: str
    description: str
    skills: list[tuple[str, str]]


def admit(authorization: str, address: str) -> A2aCaller:
    """Let somebody in who sent a token.

    Args:
        authorization: the header of that name.

    Raises:
        CallRefusedError: they may not come in.
    """
    if not token_store.config().token_days:
        raise CallRefusedError(ProblemKind.UNAVAILABLE, tokens.NO_TOKENS)
    scheme, _, key = authorization.partition(" ")
    if scheme.lower() not in SCHEMES:
        raise CallRefusedError(ProblemKind.FORBIDDEN, WHO, is_stranger=True)
    key = key.strip()
    is_one = key.isascii() and key.isprintable() and len(key) <= LONGEST_TOKEN
    token = token_store.find(key) if is_one else None
    if token is None:
        raise CallRefusedError(ProblemKind.FORBIDDEN, BAD_TOKEN, is_stranger=True)
    pk = token.account.pk
    account = _account(pk, address)
    may_change = token.scope != TokenScope.READ.value
    return A2aCaller(pk, address, token.pk, may_change, account, time.monotonic())


def _account(pk: int, address: str) -> Account:
    found = callers.account_of(pk, address)
    if not found.ok:
        raise CallRefusedError(ProblemKind.FORBIDDEN, found.message, is_stranger=True)
    return found.data


def cards(config: A2aConfig) -> list[Facts]:
    """The assistants that have a card, by name."""
    return [_facts(script) for script in tasks.open_assistants(config)]


def card(key: str, config: A2aConfig) -> Facts:
    """One of them.

    Raises:
        CallRefusedError: there is none of that name.
    """
    return _facts(_script(key, config))


def _facts(script: AssistantScript) -> Facts:
    described = one_line(str(strip_ansi(str(script.obj.db.desc or ""))), 300)
    tools = list_tools(script).data.tools
    skills = [(tool["name"], one_line(tool["description"], 300)) for tool in tools]
    return Facts(str(script.key), described, skills[:MOST_SKILLS])


def _script(
    key: str, config: A2aConfig, known: dict[str, AssistantScript] | None = None
) -> AssistantScript:
    """The assistant of a name, without a look into the database where it is known by that."""
    wanted = key.casefold()
    before = known.get(wanted) if known is not None else None
    if before is not None and before.pk is not None and str(before.key).casefold() == wanted:
        found: list[AssistantScript] = [before]
    else:
        found = list_assistants()
    for script in found:
        if str(script.key).casefold() == wanted and tasks.is_open(script, config):
            if known is not None:
                known[wanted] = script
            return script
    raise CallRefusedError(ProblemKind.MISSING, NO_ASSISTANT.format(key=key[:60]))


class Desk:
    """All that a peer may ask of one assistant; each method is called in the game's thread.

    Args:
        known: the assistants that were asked before, for all desks of a server.
    """

    def __init__(
        self, config: A2aConfig, key: str, caller: A2aCaller, known: dict[str, AssistantScript]
    ) -> None:
        self._config, self._key, self._known = config, key, known
        self.caller = caller

    def send(
        self, given: Given, task: str, hook: Mapping[str, str] | None
    ) -> TaskSnapshot | Deferred[TaskSnapshot]:
        """Give a task, or answer what one of them asks.

        Args:
            task: the id of the one that is answered; "" for a new one.
            hook: an address that is told of it, as `put_hook` takes it. One that is refused leaves
                all as it is.
        """

        def act(script: AssistantScript, account: Account) -> Any:
            if task:
                found = _good(tasks.find(script, account, task))
                return self._answer(script, account, found, given, hook)
            return snapshot(self._begin(script, account, given, hook))

        return self._do(act, changes=True)

    def _begin(
        self,
        script: AssistantScript,
        account: Account,
        given: Given,
        hook: Mapping[str, str] | None,
    ) -> PeerTask:
        if hook is not None:
            _check_hook(hook)
            if self._config.hooks_per_task < 1:
                raise CallRefusedError(ProblemKind.UNAVAILABLE, NO_HOOKS)

        def keep(made: PeerTask) -> None:
            if hook is not None:
                self._keep_hook(made.pk, hook, peer_store.last_event(made.pk))

        made = _good(tasks.begin(script, account, given, self._config, keep))
        if hook is not None and all(each.key != hook["key"] for each in peer_store.hooks(made.pk)):
            # The message was sent before, without this address.
            self._keep_hook(made.pk, hook, peer_store.last_event(made.pk))
        return made

    def _answer(
        self,
        script: AssistantScript,
        account: Account,
        task: PeerTask,
        given: Given,
        hook: Mapping[str, str] | None,
    ) -> Deferred[TaskSnapshot]:
        if hook is not None:
            self._check_room(task.pk, hook)
        # Before the answer, as the address is to be told of what comes of it.
        since = peer_store.last_event(task.pk)

        def answered(outcome: Result[PeerTask]) -> TaskSnapshot:
            found = _good(outcome)
            if hook is not None:
                self._keep_hook(found.pk, hook, since)
                peer_store.tell(found.pk)
            return snapshot(found)

        return answers.answer(script, account, task, given).addCallback(answered)

    def check(self, given: Given, task: str, hook: Mapping[str, str]) -> None:
        """Refuse what `send` would refuse, and do nothing."""

        def act(script: AssistantScript, account: Account) -> None:
            if task:
                self._check_room(_good(tasks.find(script, account, task)).pk, hook)
                return
            _check_hook(hook)
            refused = tasks.may_begin(script, account, given, self._config)
            if refused is not None:
                raise CallRefusedError(refused.problem, refused.message)

        self._do(act, changes=True)

    def check_hook(self, task: str, hook: Mapping[str, str]) -> None:
        """Refuse what `put_hook` would refuse, and do nothing."""

        def act(script: AssistantScript, account: Account) -> None:
            self._check_room(_good(tasks.find(script, account, task)).pk, hook)

        self._do(act, changes=True)

    def get(self, task: str) -> TaskSnapshot:
        """A task as it stands."""
        return self._do(lambda script, account: snapshot(_good(tasks.find(script, account, task))))

    def cancel(self, task: str) -> TaskSnapshot:
        """Call a task off."""

        def act(script: AssistantScript, account: Account) -> TaskSnapshot:
            found = _good(tasks.find(script, account, task))
            return snapshot(_good(answers.cancel(script, account, found)))

        return self._do(act, changes=True)

    def page(
        self, wanted: Mapping[str, object], before: str, limit: int, *, with_made: bool
    ) -> tuple[list[TaskSnapshot], str, int]:
        """Tasks of the caller with the assistant, the last changed first.

        Args:
            with_made: with what they made.

        Returns:
            The page, what to send for the next one ("" at the end), and how many there are.
        """

        def act(script: AssistantScript, account: Account) -> tuple[list[TaskSnapshot], str, int]:
            whose = {"account": account.pk, "assistant": script.id}
            rows, count = peer_store.page({**wanted, **whose}, before, limit)
            shown = rows[:limit]
            last = shown[-1] if len(rows) > limit else None
            following = f"{last.changed_at!r} {last.pk}" if last is not None else ""
            found = [snapshot(task, with_made=with_made) for task in shown]
            return found, following, count

        return self._do(act)

    def happenings(self, task: str, after: int) -> list[Happening]:
        """The events of a task since one of them, in order."""

        def act(script: AssistantScript, account: Account) -> list[Happening]:
            found = _good(tasks.find(script, account, task))
            return [happening(event) for event in peer_store.events(found.pk, after)]

        return self._do(act)

    def put_hook(self, task: str, hook: Mapping[str, str]) -> None:
        """Let an address be told of a task: `key`, `url`, `token`, `scheme`, `credentials`."""

        def act(script: AssistantScript, account: Account) -> None:
            found = _good(tasks.find(script, account, task)).pk
            self._keep_hook(found, hook, peer_store.last_event(found))

        self._do(act, changes=True)

    def _keep_hook(self, task: str, hook: Mapping[str, str], since: PeerEvent | None) -> None:
        self._check_room(task, hook)
        peer_store.put_hook(PeerHook(task=task, **hook), since)

    def _check_room(self, task: str, hook: Mapping[str, str]) -> None:
        _check_hook(hook)
        others = [each for each in peer_store.hooks(task) if each.key != hook["key"]]
        if len(others) >= self._config.hooks_per_task:
            told = TOO_MANY_HOOKS.format(task=task, count=len(others))
            raise CallRefusedError(ProblemKind.UNAVAILABLE, told)

    def hooks(self, task: str) -> list[dict[str, str]]:
        """The addresses that are told of a task."""

        def act(script: AssistantScript, account: Account) -> list[dict[str, str]]:
            found = _good(tasks.find(script, account, task))
            names = ("key", "url", "token", "scheme", "credentials")
            return [
                {name: getattr(hook, name) for name in names} for hook in peer_store.hooks(found.pk)
            ]

        return self._do(act)

    def remove_hook(self, task: str, key: str) -> None:
        """Tell an address no more."""

        def act(script: AssistantScript, account: Account) -> None:
            found = _good(tasks.find(script, account, task)).pk
            if NAME.fullmatch(key):  # there is no other
                peer_store.remove_hook(found, key)

        self._do(act, changes=True)

    def _do(self, act: Callable[..., T], *, changes: bool = False) -> T:
        if changes and not self.caller.may_change:
            raise CallRefusedError(ProblemKind.FORBIDDEN, ONLY_READS)
        account = self.caller.account
        if time.monotonic() - self.caller.at > FRESH_SECONDS:  # a stream may last an hour
            if not token_store.is_good(self.caller.token):
                raise CallRefusedError(ProblemKind.FORBIDDEN, BAD_TOKEN, is_stranger=True)
            account = _account(self.caller.pk, self.caller.address)
        with audit.acting(str(account.key), VIA):
            return act(_script(self._key, self._config, self._known), account)


def _check_hook(hook: Mapping[str, str]) -> None:
    """Refuse an address that could not be kept, or whose words could not be sent."""
    if not NAME.fullmatch(hook["key"]):
        raise CallRefusedError(ProblemKind.INVALID, BAD_NAME.format(name=hook["key"][:80]))
    for name, text in hook.items():
        most = MOST_SCHEME if name == "scheme" else MOST_HOOK_TEXT
        if len(text) > most:
            told = LONG_HOOK.format(field=name, most=most, count=len(text))
            raise CallRefusedError(ProblemKind.INVALID, told)
        if not text.isprintable():
            raise CallRefusedError(ProblemKind.INVALID, BAD_HOOK.format(field=name))


def _good(result: Result[PeerTask]) -> PeerTask:
    if not result.ok:
        raise CallRefusedError(result.problem, result.message)
    return result.data
