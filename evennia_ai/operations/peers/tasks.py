"""Tasks of peers, which are external agents that ask over A2A: begun, looked up and followed.

A task is a request that survives restarts, like a program's request with a name. Its state for the
peer follows from that request and from open questions about it: `follow` reads both and stores
what is new. It is called whenever either may have changed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any
from uuid import UUID, uuid4

from evennia.accounts.models import AccountDB

from evennia_ai import approvals, audit
from evennia_ai.agent import requests
from evennia_ai.agent.requests import NoAnswerError
from evennia_ai.approvals import store as questions
from evennia_ai.approvals.people import task_of
from evennia_ai.assistant_script import AssistantScript
from evennia_ai.core.hearing.inbox import Event
from evennia_ai.core.safety.questions import Question
from evennia_ai.core.settings.services import A2aConfig
from evennia_ai.core.text.words import number as in_words
from evennia_ai.core.typed_objects import Account
from evennia_ai.errors import ConfigurationError
from evennia_ai.messages.incoming import person_of
from evennia_ai.models import PeerTask, PendingTask
from evennia_ai.operations.conversation.talk import PROBLEMS
from evennia_ai.operations.naming import list_assistants
from evennia_ai.operations.peers import states
from evennia_ai.operations.peers.overview import used_today
from evennia_ai.operations.peers.states import refuse_chain
from evennia_ai.operations.result import Result
from evennia_ai.operations.rights.acts import refusal
from evennia_ai.runtime.rights import forms_of, is_staff
from evennia_ai.runtime.tagged import ANY_TAG, scripts_with
from evennia_ai.tasks import peer_parts, peer_store, programs, remote_tasks, store, task_waits

LOCK = "peer"
ALL = "*"
PREFIX = "a2a:"  # begins the names of the requests behind tasks


@dataclass(frozen=True, slots=True)
class Given:
    """A message from a peer.

    Attributes:
        id: the peer's id of the message.
        text: its text.
        context: id of the conversation that it belongs to; "" for a new one.
        is_order: it wants something done in the world, not only an answer.
        choice: id of the chosen answer to a question; "" where the text is the answer.
        question: number of the question that it answers; 0: the open one.
        metadata: metadata as sent.
        modes: media types that the peer accepts; empty: all.
    """

    id: str
    text: str
    context: str = ""
    is_order: bool = False
    choice: str = ""
    question: int = 0
    metadata: dict[str, Any] = field(default_factory=dict)
    modes: tuple[str, ...] = ()

    def as_word(self) -> dict[str, Any]:
        """The message in its stored form."""
        word: dict[str, Any] = {"id": self.id, "role": "user", "text": self.text}
        if self.metadata:
            word["metadata"] = self.metadata
        return {**word, "modes": list(self.modes)} if self.modes else word

    @property
    def words(self) -> str:
        """The text for the assistant, with a note for peers that accept no plain text."""
        if peer_parts.is_taken(peer_parts.TEXT, self.modes):
            return self.text
        modes = ", ".join(self.modes)
        return f"{self.text}\n(They take no plain text, but: {modes}. Attach what they need.)"


# ---- access ------------------------------------------------------------------------------------


def is_open(script: AssistantScript, config: A2aConfig) -> bool:
    """True where an assistant has an agent card: by a lock of its body, or by the setting."""
    if script.obj is None:
        return False
    names = {name.casefold() for name in config.assistants}
    is_named = ALL in names or str(script.key).casefold() in names
    return is_named or bool(script.obj.locks.get(LOCK))


def open_assistants(config: A2aConfig) -> list[AssistantScript]:
    """The assistants that have an agent card, sorted by name."""
    return [script for script in list_assistants() if is_open(script, config)]


def may_ask(script: AssistantScript, account: Account) -> bool:
    """True where an account passes the lock of an assistant's body, if that has one."""
    body = script.obj
    if not body.locks.get(LOCK):
        return True
    return any(body.access(form, LOCK) for form in forms_of(account))


# ---- giving a task -----------------------------------------------------------------------------


def begin(
    script: AssistantScript,
    account: Account,
    given: Given,
    config: A2aConfig,
    storing: Callable[[PeerTask], None] | None = None,
) -> Result[PeerTask]:
    """Give an assistant a task; a message that was sent before gets the task of before.

    Args:
        storing: called with a new task, to store more in the same transaction.
    """
    number, before = _number_of_new(script, account, given)
    if before is not None:
        return Result(True, f"{script.key} has it already.", before)
    at = states.now()
    if refused := _refusal(script, account, given, config, number):
        return refused
    task = PeerTask(
        id=number,
        assistant=script.id,
        account=account.pk,
        context=given.context or str(uuid4()),
        is_order=given.is_order,
        state=peer_store.WORKING,
        words=json.dumps([given.as_word()], ensure_ascii=False),
        made_at=at,
        changed_at=at,
    )

    def store_all(event: Event) -> None:
        task.request, task.number = event.id, event.number
        peer_store.begin(task)
        if storing is not None:
            storing(task)

    if refused := _ask(script, account, given, config, number, store_all):
        return refused
    audit.record("peer_asked", script, by=str(account.key), task=number, number=task.number)
    return Result(True, f"{script.key} has it.", task)


def _ask(
    script: AssistantScript,
    account: Account,
    given: Given,
    config: A2aConfig,
    number: str,
    storing: Callable[[Event], None],
) -> Result | None:
    # Returns why the assistant does not take the task, or None.
    try:
        request = requests.begin(
            script,
            given.words,
            account,
            config.task_seconds,
            is_order=given.is_order,
            name=f"{PREFIX}{number}",
            hops=remote_tasks.hops_of(given.metadata),
            storing=storing,
        )
    except NoAnswerError as error:
        return Result(False, f"{error}.", problem=PROBLEMS[error.reason])
    except Exception:  # without a request in the inbox, nothing would ever end the task
        peer_store.remove(number)
        raise
    # `follow` reads the answer from the table; an unhandled error would only fill the log.
    request.answer.addErrback(lambda failure: failure.trap(NoAnswerError) and None)
    return None


def number_of(script: AssistantScript, account: Account, given: Given) -> str:
    """The id of a message's task, which is the same however often the message is sent.

    The text counts too, since some peers use an id again for another message.
    """
    parts = [account.pk, script.id, given.id, given.context, given.text, given.is_order]
    identity = json.dumps(parts, ensure_ascii=False).encode("utf-8", "replace")
    return str(UUID(bytes=sha256(identity).digest()[:16], version=4))


def _number_of_new(
    script: AssistantScript, account: Account, given: Given
) -> tuple[str, PeerTask | None]:
    # The id for a message's task, and the task that the same message began before, if it counts: an
    # order is never run a second time, but an answered question may be asked again.
    number = number_of(script, account, given)
    before = peer_store.find(number)
    if before is None:
        return number, None
    follow(before)
    if before.is_order or before.state not in peer_store.FINAL:
        return number, before
    return str(uuid4()), None


def may_begin(
    script: AssistantScript, account: Account, given: Given, config: A2aConfig
) -> Result | None:
    """Refuse a message by which no task can begin; None where one can, or did before."""
    number, before = _number_of_new(script, account, given)
    return None if before is not None else _refusal(script, account, given, config, number)


def _refusal(
    script: AssistantScript, account: Account, given: Given, config: A2aConfig, number: str
) -> Result | None:
    name = f"{PREFIX}{number}"
    if store.find(script.id, person_of(account), name, script.clock.seconds()) is not None:
        return Result.conflict(
            f"Message {given.id!r} was sent before, and what came of it is kept no more; a new "
            "one needs an id of its own."
        )
    if not may_ask(script, account):
        lock = str(script.obj.locks.get(LOCK))
        return Result.forbidden(
            f"You may not ask {script.key}: its lock {lock!r} does not allow it."
        )
    if given.is_order and (refused := refusal("tell", account, script)) is not None:
        return refused
    if (refused := refuse_chain(script, given.metadata)) is not None:
        return refused
    own_count = peer_store.count_unfinished(account=account.pk)
    if 0 < config.tasks_per_peer <= own_count:
        return Result.unavailable(
            f"{own_count} of your tasks are under way with this game; wait until one is over."
        )
    cap = config.peer_tokens_per_day
    if cap and (refused := _used_up(account, cap)) is not None:
        return refused
    of_all = peer_store.count_unfinished()
    if 0 < config.tasks_at_once <= of_all:
        return Result.unavailable(
            f"{of_all} tasks of peers are under way with this game; try again later."
        )
    return None


def _used_up(account: Account, cap: int) -> Result | None:
    try:
        used = used_today(account.pk)
    except ConfigurationError:  # no loss: without the ledger no model could answer either
        return Result.unavailable(
            "What your account has used today is not known now, as the game's ledger cannot be "
            "read; try again later."
        )
    if used < cap:
        return None
    return Result.unavailable(
        f"Your account has used {in_words(used)} tokens today, of {in_words(cap)} with which "
        "external agents may begin; give it tomorrow (UTC), or ask the game's owner for more: "
        "peer_tokens_per_day in EVENNIA_AI_A2A_CONFIG."
    )


def find(script: AssistantScript, account: Account, number: str) -> Result[PeerTask]:
    """Find a task that an account gave an assistant; another account's counts as missing."""
    if (task := peer_store.find(number, account=account.pk, assistant=script.id)) is None:
        return Result.not_found(f"You have no task {number[:64]!r} with {script.key}.")
    return Result(True, task.state, task)


# ---- following a task --------------------------------------------------------------------------


def follow_all(assistant: str = "") -> None:
    """Update every unfinished task, of one assistant or of all."""
    unfinished = peer_store.unfinished()
    scripts = _scripts_of(unfinished)
    for task in unfinished:
        script = scripts.get(task.assistant)
        if not assistant or script is None or str(script.key) == assistant:
            _follow(task, script)


def follow(task: PeerTask) -> None:
    """Update the state of a task from its request and the open questions about it."""
    if task.state not in peer_store.FINAL:
        _follow(task, _scripts_of([task]).get(task.assistant))


def _follow(task: PeerTask, script: AssistantScript | None) -> None:
    pending = PendingTask.objects.filter(pk=task.request).first()
    if script is None or pending is None:
        name = "it" if script is None else script.key
        gone = f"{name} gives no answer: the game does not know this task any more."
        states.end(task, peer_store.FAILED, gone)
    elif pending.state == store.OPEN:
        _follow_open(script, task, pending)
    elif pending.state == store.FAILED:
        states.end(task, peer_store.FAILED, f"{pending.answer}.")
    else:
        _follow_answered(script, task, pending)


def _follow_open(script: AssistantScript, task: PeerTask, pending: PendingTask) -> None:
    account = account_of(task)
    if script.work is None:
        if pending.ends_at < states.now():
            text = f"{script.key} gives no answer: it is not running."
            states.end(task, peer_store.FAILED, text)
        return
    # No wait in this process: a kill cut it off. `find` takes it up again, or fails it.
    if task_waits.by_id(task.request) is None and account is not None:
        followed = programs.find(script, account, f"{PREFIX}{task.pk}")
        if followed is not None and followed.state == store.FAILED:
            states.end(task, peer_store.FAILED, f"{followed.answer}.")
        return
    question = open_question(task, account, is_call=False)
    if question is None:
        if task.state != peer_store.WORKING:
            states.move(task, peer_store.WORKING)
    elif task.question != question.number or task.state != peer_store.INPUT_REQUIRED:
        states.ask(task, peer_store.INPUT_REQUIRED, question)


def _follow_answered(script: AssistantScript, task: PeerTask, pending: PendingTask) -> None:
    # The assistant has answered, but a tool call of it may still wait for somebody's yes.
    calls = [each for each in questions.stored(script) if each.call and _is_about(each, task)]
    if any(each.choice for each in calls):
        return  # the call was allowed, and is being run
    question = open_question(task, account_of(task), is_call=True)
    if question is not None:
        if task.question != question.number or task.state != peer_store.AUTH_REQUIRED:
            states.ask(task, peer_store.AUTH_REQUIRED, question)
        return
    closed = questions.why_closed(task.question) if task.question else ""
    was_asked = task.state == peer_store.AUTH_REQUIRED and closed
    answer = str(pending.answer)
    text = f"{answer} (question {task.question}: {closed})" if was_asked else answer
    is_talk = pending.reason == store.TALK and not (task.is_order or task.question)
    states.end(task, peer_store.COMPLETED, text, is_talk=is_talk)


def _is_about(question: Question, task: PeerTask) -> bool:
    return bool(task_of(question) == task.request)


def open_question(task: PeerTask, account: Account | None, *, is_call: bool) -> Question | None:
    """The oldest open question about a task, about a call or not, that an account may answer."""
    if account is None:
        return None
    for script, question in questions.everywhere():
        is_meant = bool(question.call) is is_call and _is_about(question, task)
        if is_meant and approvals.may_answer(script, question, account, is_staff=is_staff(account)):
            return question
    return None


def _scripts_of(given: Sequence[PeerTask]) -> dict[int, AssistantScript]:
    scripts = scripts_with(ANY_TAG, {task.assistant for task in given}) if given else ()
    return {script.id: script for script in scripts}


def account_of(task: PeerTask) -> Account | None:
    """The account that gave a task, or None where it was deleted."""
    account: Account | None = AccountDB.objects.filter(pk=task.account).first()
    return account


# ---- accounts that wait -------------------------------------------------------------------------


def account_waiting(request: str) -> Account | None:
    """The account whose unfinished task has this request; None: the request is not a peer's."""
    task = peer_store.by_request(request) if request else None
    if task is None or task.state in peer_store.FINAL:
        return None
    return account_of(task)


def is_waiting(person: str) -> bool:
    """True where a person has an unfinished task."""
    number = person.removeprefix(peer_store.ACCOUNT)
    return number.isdecimal() and bool(peer_store.count_unfinished(account=int(number)))
