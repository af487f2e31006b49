"""Requests of peers in the game's thread: authentication, tasks, and webhooks of tasks."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from evennia.utils.ansi import strip_ansi
from twisted.internet.defer import Deferred

from evennia_ai import audit
from evennia_ai.api.a2a.wire import TaskEvent, TaskSnapshot, read_event, snapshot
from evennia_ai.assistant_character import IS_AI_LINE
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
from evennia_ai.operations.rights import acts, token_store, tokens
from evennia_ai.operations.tools.running import list_tools
from evennia_ai.runtime import names
from evennia_ai.runtime.web_requests import api_config
from evennia_ai.tasks import peer_store

VIA = "a2a"
SCHEMES = ("bearer", "token")
WHO = "Say who you are: send `Authorization: Bearer <token>`."
BAD_TOKEN = "This token is worth nothing."
ONLY_READS = "This token is read-only; its owner can create another one."
NO_ASSISTANT = "There is no assistant {key!r} here that external agents may ask."
MOST_SKILLS = 50
# After this time token and account are checked again: a stream may last for an hour.
FRESH_SECONDS = 2.0
MOST_HOOK_TEXT, MOST_SCHEME = 2_000, 64
HOOK_FIELDS = ("key", "url", "token", "scheme", "credentials")
NO_HOOKS = "This game tells no address of tasks: hooks_per_task is 0 in EVENNIA_AI_A2A_CONFIG."
TOO_MANY_HOOKS = "Task {task} tells {count} addresses already; take one out first."
LONG_HOOK = "The {field} of an address has at most {most} characters, not {count}."
BAD_HOOK = "The {field} of an address is shown in a header: it has printable characters only."
BAD_NAME = "An address has a name of at most 64 characters, not {name!r}."
NAME = re.compile(r"[\x21-\x7e]{1,64}")
T = TypeVar("T")


class CallRefusedError(Exception):
    """A request is refused; the text says why.

    Attributes:
        problem: the kind of problem.
        is_stranger: the request is not authenticated; `problem` is FORBIDDEN then.
    """

    def __init__(self, problem: ProblemKind, text: str, *, is_stranger: bool = False) -> None:
        super().__init__(text)
        self.problem = problem
        self.is_stranger = is_stranger


@dataclass(frozen=True, slots=True)
class A2aCaller:
    """The authenticated sender of a request.

    Attributes:
        pk: primary key of the account.
        address: the network address.
        token: primary key of the token.
        may_change: the token's scope allows more than reading.
        account: the account when it was authenticated; touched in the game's thread only.
        at: when that was, in seconds of the monotonic clock.
    """

    pk: int
    address: str
    token: int
    may_change: bool
    account: Account = field(repr=False, compare=False)
    at: float = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class CardFacts:
    """The contents of a card, which is public: an assistant and its skills.

    Attributes:
        skills: name and description of each tool.
    """

    key: str
    description: str
    skills: list[tuple[str, str]]


def admit(authorization: str, address: str) -> A2aCaller:
    """Authenticate a request by its token.

    Args:
        authorization: the header of that name.

    Raises:
        CallRefusedError: there is no valid token, or its account may not use the server.
    """
    if not api_config().token_days:
        raise CallRefusedError(ProblemKind.UNAVAILABLE, tokens.NO_TOKENS)
    scheme, _, key = authorization.partition(" ")
    if scheme.lower() not in SCHEMES:
        raise CallRefusedError(ProblemKind.FORBIDDEN, WHO, is_stranger=True)
    token = token_store.find(key.strip())
    if token is None:
        raise CallRefusedError(ProblemKind.FORBIDDEN, BAD_TOKEN, is_stranger=True)
    pk = token.account.pk
    account = _account(pk, address)
    may_change = token.scope != TokenScope.READ.value
    return A2aCaller(pk, address, token.pk, may_change, account, time.monotonic())


def _account(pk: int, address: str) -> Account:
    result = acts.account_of(pk, address)
    if not result.ok:
        raise CallRefusedError(ProblemKind.FORBIDDEN, result.message, is_stranger=True)
    return result.data


def cards(config: A2aConfig) -> list[CardFacts]:
    """The cards of all assistants that peers may ask."""
    return [_facts_of(script) for script in tasks.open_assistants(config)]


def card(key: str, config: A2aConfig) -> CardFacts:
    """The card of one assistant.

    Raises:
        CallRefusedError: there is no such assistant, or peers may not ask it.
    """
    return _facts_of(_find_script(key, config))


def _facts_of(script: AssistantScript) -> CardFacts:
    # As others see it: a game may make the description up. That it is an AI goes without saying.
    body: Any = script.obj
    mark = IS_AI_LINE.format(name=strip_ansi(body.get_display_name(body)))
    described = one_line(names.description_of(body, body).removesuffix(mark), 300)
    tools = list_tools(script).data.tools
    skills = [(tool["name"], one_line(tool["description"], 300)) for tool in tools]
    return CardFacts(str(script.key), described, skills[:MOST_SKILLS])


def _find_script(
    key: str, config: A2aConfig, known: dict[str, AssistantScript] | None = None
) -> AssistantScript:
    """Find an assistant that peers may ask; `known` is a cache by name."""
    wanted = key.casefold()
    cached = known.get(wanted) if known is not None else None
    # `pk` is None once Django has deleted the row; and the assistant may have been renamed.
    if cached is not None and cached.pk is not None and str(cached.key).casefold() == wanted:
        candidates: list[AssistantScript] = [cached]
    else:
        candidates = list_assistants()
    for script in candidates:
        if str(script.key).casefold() == wanted and tasks.is_open(script, config):
            if known is not None:
                known[wanted] = script
            return script
    raise CallRefusedError(ProblemKind.NOT_FOUND, NO_ASSISTANT.format(key=key[:60]))


class PeerAccess:
    """A peer's access to one assistant; every method is called in the game's thread.

    Args:
        known: a cache of assistants by name, shared by all requests to the server.
    """

    def __init__(
        self, config: A2aConfig, key: str, caller: A2aCaller, known: dict[str, AssistantScript]
    ) -> None:
        self._config, self._key, self._known = config, key, known
        self.caller = caller

    def send(
        self, given: Given, task: str, hook: Mapping[str, str] | None
    ) -> TaskSnapshot | Deferred[TaskSnapshot]:
        """Begin a task, or answer the question of one.

        Args:
            task: id of the task that is answered; "" for a new one.
            hook: a webhook for the task, as `put_hook` takes it. If it is refused, the message has
                no effect.
        """

        def act(script: AssistantScript, account: Account) -> Any:
            if task:
                row = _unwrap(tasks.find(script, account, task))
                return self._answer(script, account, row, given, hook)
            return snapshot(self._begin(script, account, given, hook))

        return self._run(act, changes=True)

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

        # `begin` calls it in its own transaction: a crash leaves task and webhook, or neither.
        def add_hook(task: PeerTask) -> None:
            if hook is not None:
                self._store_hook(task.pk, hook, peer_store.last_event(task.pk))

        task = _unwrap(tasks.begin(script, account, given, self._config, add_hook))
        if hook is not None and all(each.key != hook["key"] for each in peer_store.hooks(task.pk)):
            # The message had been sent before, without this webhook, and nothing new began.
            self._store_hook(task.pk, hook, peer_store.last_event(task.pk))
        return task

    def _answer(
        self,
        script: AssistantScript,
        account: Account,
        task: PeerTask,
        given: Given,
        hook: Mapping[str, str] | None,
    ) -> Deferred[TaskSnapshot]:
        if hook is not None:
            self._check_hook_fits(task.pk, hook)
        # Read before the answer, so that the webhook gets the events that the answer causes.
        since = peer_store.last_event(task.pk)

        def on_answered(outcome: Result[PeerTask]) -> TaskSnapshot:
            row = _unwrap(outcome)
            if hook is not None:
                self._store_hook(row.pk, hook, since)
                peer_store.tell(row.pk)
            return snapshot(row)

        return answers.answer(script, account, task, given).addCallback(on_answered)

    def check(self, given: Given, task: str, hook: Mapping[str, str]) -> None:
        """Raise what `send` would raise for these arguments, without doing anything."""

        def act(script: AssistantScript, account: Account) -> None:
            if task:
                self._check_hook_fits(_unwrap(tasks.find(script, account, task)).pk, hook)
                return
            _check_hook(hook)
            refused = tasks.may_begin(script, account, given, self._config)
            if refused is not None:
                raise CallRefusedError(refused.problem, refused.message)

        self._run(act, changes=True)

    def check_hook(self, task: str, hook: Mapping[str, str]) -> None:
        """Raise what `put_hook` would raise, without doing anything."""
        self._on_task(task, lambda row: self._check_hook_fits(row.pk, hook), changes=True)

    def get(self, task: str) -> TaskSnapshot:
        """The current state of a task."""
        return self._on_task(task, snapshot)

    def cancel(self, task: str) -> TaskSnapshot:
        """Cancel a task."""

        def act(script: AssistantScript, account: Account) -> TaskSnapshot:
            row = _unwrap(tasks.find(script, account, task))
            return snapshot(_unwrap(answers.cancel(script, account, row)))

        return self._run(act, changes=True)

    def page(
        self, wanted: Mapping[str, object], before: str, limit: int, *, with_artifacts: bool
    ) -> tuple[list[TaskSnapshot], str, int]:
        """List the caller's tasks with this assistant, the last changed first.

        Args:
            before: the cursor that the page before returned; "" for the first.
            with_artifacts: include the artifacts of the tasks.

        Returns:
            The page, the cursor of the next one ("" at the end), and the number of all tasks.
        """

        def act(script: AssistantScript, account: Account) -> tuple[list[TaskSnapshot], str, int]:
            whose = {"account": account.pk, "assistant": script.id}
            rows, count = peer_store.page({**wanted, **whose}, before, limit)
            page_rows = rows[:limit]
            last = page_rows[-1] if len(rows) > limit else None
            # `repr` of a float keeps all digits: a rounded time would skip or repeat tasks.
            following = f"{last.changed_at!r} {last.pk}" if last is not None else ""
            snapshots = [snapshot(task, with_artifacts=with_artifacts) for task in page_rows]
            return snapshots, following, count

        return self._run(act)

    def events(self, task: str, after: int) -> list[TaskEvent]:
        """The events of a task after the one of a number, in order."""
        return self._on_task(
            task, lambda row: list(map(read_event, peer_store.events(row.pk, after)))
        )

    def put_hook(self, task: str, hook: Mapping[str, str]) -> None:
        """Add a webhook to a task: `key`, `url`, `token`, `scheme`, `credentials`."""

        def put(row: PeerTask) -> None:
            self._store_hook(row.pk, hook, peer_store.last_event(row.pk))

        self._on_task(task, put, changes=True)

    def _store_hook(self, task: str, hook: Mapping[str, str], since: PeerEvent | None) -> None:
        self._check_hook_fits(task, hook)
        peer_store.put_hook(PeerHook(task=task, **hook), since)

    def _check_hook_fits(self, task: str, hook: Mapping[str, str]) -> None:
        _check_hook(hook)
        others = [each for each in peer_store.hooks(task) if each.key != hook["key"]]
        if len(others) >= self._config.hooks_per_task:
            message = TOO_MANY_HOOKS.format(task=task, count=len(others))
            raise CallRefusedError(ProblemKind.UNAVAILABLE, message)

    def hooks(self, task: str) -> list[dict[str, str]]:
        """The webhooks of a task."""
        return self._on_task(
            task,
            lambda row: [
                {name: getattr(hook, name) for name in HOOK_FIELDS}
                for hook in peer_store.hooks(row.pk)
            ],
        )

    def remove_hook(self, task: str, key: str) -> None:
        """Remove a webhook from a task."""

        def remove(row: PeerTask) -> None:
            if NAME.fullmatch(key):  # no webhook has any other name
                peer_store.remove_hook(row.pk, key)

        self._on_task(task, remove, changes=True)

    def _on_task(self, task: str, act: Callable[[PeerTask], T], *, changes: bool = False) -> T:
        """Call a function with a task of the caller's."""
        return self._run(
            lambda script, account: act(_unwrap(tasks.find(script, account, task))),
            changes=changes,
        )

    def _run(self, act: Callable[..., T], *, changes: bool = False) -> T:
        if changes and not self.caller.may_change:
            raise CallRefusedError(ProblemKind.FORBIDDEN, ONLY_READS)
        account = self.caller.account
        if time.monotonic() - self.caller.at > FRESH_SECONDS:
            if not token_store.is_good(self.caller.token):
                raise CallRefusedError(ProblemKind.FORBIDDEN, BAD_TOKEN, is_stranger=True)
            account = _account(self.caller.pk, self.caller.address)
        with audit.acting(str(account.key), VIA):
            return act(_find_script(self._key, self._config, self._known), account)


def _check_hook(hook: Mapping[str, str]) -> None:
    """Refuse a webhook that could not be stored, or whose values could not be sent in headers."""
    if not NAME.fullmatch(hook["key"]):
        raise CallRefusedError(ProblemKind.INVALID, BAD_NAME.format(name=hook["key"][:80]))
    for name, text in hook.items():
        most = MOST_SCHEME if name == "scheme" else MOST_HOOK_TEXT
        if len(text) > most:
            message = LONG_HOOK.format(field=name, most=most, count=len(text))
            raise CallRefusedError(ProblemKind.INVALID, message)
        if not text.isprintable():
            raise CallRefusedError(ProblemKind.INVALID, BAD_HOOK.format(field=name))


def _unwrap(result: Result[PeerTask]) -> PeerTask:
    if not result.ok:
        raise CallRefusedError(result.problem, result.message)
    return result.data
