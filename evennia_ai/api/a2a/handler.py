"""The methods of the A2A protocol, for both bindings (JSON-RPC and HTTP+JSON)."""

from __future__ import annotations

import asyncio
import base64
import math
import re
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from datetime import UTC
from functools import partial
from typing import Any
from uuid import NAMESPACE_URL, uuid4, uuid5

from a2a.server.context import ServerCallContext
from a2a.server.events.event_queue import Event
from a2a.server.request_handlers.request_handler import RequestHandler, validate_request_params
from a2a.types import (
    AgentCard,
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTaskPushNotificationConfigsResponse,
    ListTasksRequest,
    ListTasksResponse,
    Message,
    SendMessageRequest,
    SubscribeToTaskRequest,
    Task,
    TaskPushNotificationConfig,
    TaskState,
)
from a2a.utils.errors import (
    A2AError,
    ExtendedAgentCardNotConfiguredError,
    InternalError,
    InvalidParamsError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnsupportedOperationError,
)

from evennia_ai.api.a2a import wire
from evennia_ai.api.a2a.calls import CallRefusedError, PeerAccess
from evennia_ai.api.a2a.context import IDS, LAST_EVENT, access_of, end_turn
from evennia_ai.api.a2a.push import check_url
from evennia_ai.api.a2a.streams import Hub
from evennia_ai.api.a2a.wire import TaskSnapshot
from evennia_ai.core.settings.services import A2aConfig
from evennia_ai.operations.result import ProblemKind
from evennia_ai.runtime.game_thread import GameBusyError, run_async
from evennia_ai.runtime.web_requests import api_config
from evennia_ai.tasks import peer_store

# Tasks on a page; fewer with artifacts, of which one task may have 256 kB.
PAGE, MOST_ON_PAGE, MOST_WITH_ARTIFACTS = 50, 100, 20
# A stream waits this long for an answer of text alone, before it sends a task.
TALK_SECONDS = 1.0
BAD_PAGE = "A page has 1 to 100 tasks, not {size}."
BAD_HISTORY = "historyLength is a number from 0 up, not {length}."
BAD_TOKEN = "This pageToken is none of those that were given out."
NO_HOOK = "Task {task} tells no address by the name {key!r}."
NO_CARD = "There is one card of each assistant, and everybody may have it."
IS_OVER = "Task {task} is over; get it instead."
OTHER_CONTEXT = "Task {task} belongs to another contextId."
CURSOR = re.compile(r"[0-9.e+-]{1,40} [0-9a-f-]{36}")
# A2A has no errors for a missing right, a conflict or an unavailable service.
ERRORS: dict[ProblemKind, type[A2AError]] = {
    ProblemKind.NOT_FOUND: TaskNotFoundError,
    ProblemKind.INVALID: InvalidParamsError,
}


class Handler(RequestHandler):
    """Implements the protocol for every assistant of the game."""

    def __init__(self, config: A2aConfig, hub: Hub) -> None:
        self._config, self._hub = config, hub
        # One hop at a time, also for requests that have ended their turn: two busy threads of one
        # interpreter slow each other down.
        self._in_game_lock = asyncio.Semaphore(1)

    async def in_game(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function in the game's thread, and return its value.

        Raises:
            A2AError: the call was refused, or the game did not answer in time.
        """
        async with self._in_game_lock:
            try:
                return await run_async(
                    partial(function, *arguments), api_config().long_timeout_seconds
                )
            except CallRefusedError as error:
                raise ERRORS.get(error.problem, UnsupportedOperationError)(str(error)) from None
            except GameBusyError as error:
                raise InternalError(f"{error}.") from None

    # ---- tasks -----------------------------------------------------------------------------

    @validate_request_params
    async def on_message_send(
        self, params: SendMessageRequest, context: ServerCallContext
    ) -> Task | Message:
        """Begin a task or answer a question, and wait until the task ends or asks something.

        Returns:
            The task; for a new one that was answered with text alone, only the message.
        """
        access, length = access_of(context), _history_length(params.configuration)
        with self._hub.place(access.caller.pk):
            snapshot = await self._send(access, params, context)
            if not params.configuration.return_immediately:
                # The wait may last for minutes, and other requests have to run.
                end_turn(context)
                snapshot = await self._wait(access, snapshot)
                if snapshot.is_talk and _may_be_talk(params):
                    return wire.message_of(snapshot)
        return wire.task_of(snapshot, history=length)

    async def _send(
        self, access: PeerAccess, params: SendMessageRequest, context: ServerCallContext
    ) -> TaskSnapshot:
        given, hook, task = wire.read_message(params), None, params.message.task_id
        if params.configuration.HasField("task_push_notification_config"):
            config = params.configuration.task_push_notification_config
            # A name made of the URL, so that a message that is sent again adds no second webhook.
            hook = wire.hook_of(config, str(uuid5(NAMESPACE_URL, config.url)))
            # All else is checked first: only a message that would be accepted causes a DNS lookup.
            await self.in_game(access.check, given, task, hook)
            end_turn(context)  # resolving a host may take seconds
            await check_url(config.url, self._config)
        if task and given.context:
            known: TaskSnapshot = await self.in_game(access.get, task)
            if known.context != given.context:
                raise InvalidParamsError(OTHER_CONTEXT.format(task=task))
        snapshot: TaskSnapshot = await self.in_game(access.send, given, task, hook)
        return snapshot

    async def _wait(self, access: PeerAccess, shown: TaskSnapshot) -> TaskSnapshot:
        """Wait until a task is over or asks something."""
        with self._hub.watch(shown.id) as news:
            while shown.state == peer_store.WORKING:
                shown = await self.in_game(access.get, shown.id)
                if shown.state == peer_store.WORKING:
                    await news.wait()
                # Cleared before the task is read again, so that no later event is missed.
                news.clear()
        return shown

    @validate_request_params
    async def on_message_send_stream(
        self, params: SendMessageRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event]:
        """Begin a task or answer a question, and stream its events until it is over."""
        access = access_of(context)
        with self._hub.place(access.caller.pk):
            snapshot = await self._send(access, params, context)
            end_turn(context)
            talk = await self._wait_for_talk(access, snapshot) if _may_be_talk(params) else None
            if talk is not None:
                context.state[IDS].append(talk.seq)
                yield wire.message_of(talk)
                return
            with self._hub.watch(snapshot.id) as news:
                news.set()  # there may have been events before the watch began
                async for event in self._follow(access, snapshot, snapshot.seq, context, news):
                    yield event

    async def _wait_for_talk(self, access: PeerAccess, shown: TaskSnapshot) -> TaskSnapshot | None:
        """The task, if it was answered with text alone within a moment; else None."""
        with suppress(TimeoutError):
            async with asyncio.timeout(TALK_SECONDS):
                shown = await self._wait(access, shown)
        return shown if shown.is_talk else None

    @validate_request_params
    async def on_subscribe_to_task(
        self, params: SubscribeToTaskRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event]:
        """Stream a task's events, from the one after `Last-Event-ID` or from now on."""
        access, since = access_of(context), context.state[LAST_EVENT]
        # The watch begins before the task is read, so that no event falls in between.
        with self._hub.place(access.caller.pk), self._hub.watch(params.id) as news:
            snapshot: TaskSnapshot = await self.in_game(access.get, params.id)
            if snapshot.state in peer_store.FINAL and since is None:
                raise UnsupportedOperationError(IS_OVER.format(task=snapshot.id))
            after = snapshot.seq if since is None else since
            async for event in self._follow(access, snapshot, after, context, news):
                yield event

    async def _follow(
        self,
        access: PeerAccess,
        shown: TaskSnapshot,
        after: int,
        context: ServerCallContext,
        news: asyncio.Event,
    ) -> AsyncGenerator[Event]:
        """Yield a task, and then each of its events after a number, until it is over.

        Args:
            after: number of the last event that the client knows.
            news: set if anything may have happened since the task was read.
        """
        context.state[IDS].append(after)
        yield wire.task_of(shown)
        if shown.state in peer_store.FINAL and after >= shown.seq:
            return
        if after < shown.seq:
            news.set()
        while True:
            await news.wait()
            # Cleared before the events are read, so that no later one is missed.
            news.clear()
            for event in await self.in_game(access.events, shown.id, after):
                after = event.seq
                context.state[IDS].append(after)
                yield wire.event_of(shown, event)
                if event.data.get("state") in peer_store.FINAL:
                    return

    @validate_request_params
    async def on_get_task(self, params: GetTaskRequest, context: ServerCallContext) -> Task:
        """Return the current state of a task."""
        length = _history_length(params)
        snapshot: TaskSnapshot = await self.in_game(access_of(context).get, params.id)
        return wire.task_of(snapshot, history=length)

    @validate_request_params
    async def on_list_tasks(
        self, params: ListTasksRequest, context: ServerCallContext
    ) -> ListTasksResponse:
        """List the caller's tasks, the last changed first."""
        size = params.page_size if params.HasField("page_size") else PAGE
        if not 1 <= size <= MOST_ON_PAGE:
            raise InvalidParamsError(BAD_PAGE.format(size=size))
        history = _history_length(params) if params.HasField("history_length") else 0
        before, filters = _cursor_of(params.page_token), _filters_of(params)
        if params.include_artifacts:
            size = min(size, MOST_WITH_ARTIFACTS)
        page = partial(access_of(context).page, with_artifacts=params.include_artifacts)
        snapshots, following, count = await self.in_game(page, filters, before, size)
        return ListTasksResponse(
            tasks=[wire.task_of(each, history=history) for each in snapshots],
            next_page_token=base64.urlsafe_b64encode(following.encode()).decode(),
            page_size=size,
            total_size=count,
        )

    @validate_request_params
    async def on_cancel_task(self, params: CancelTaskRequest, context: ServerCallContext) -> Task:
        """Cancel a task."""
        try:
            return wire.task_of(await self.in_game(access_of(context).cancel, params.id))
        except UnsupportedOperationError as error:
            raise TaskNotCancelableError(error.message) from None

    # ---- webhooks --------------------------------------------------------------------------

    @validate_request_params
    async def on_create_task_push_notification_config(
        self, params: TaskPushNotificationConfig, context: ServerCallContext
    ) -> TaskPushNotificationConfig:
        """Add a webhook to a task."""
        access, hook = access_of(context), wire.hook_of(params, str(uuid4()))
        await self.in_game(access.check_hook, params.task_id, hook)
        end_turn(context)  # resolving a host may take seconds
        await check_url(params.url, self._config)
        await self.in_game(access.put_hook, params.task_id, hook)
        return wire.config_of(params.task_id, hook)

    @validate_request_params
    async def on_get_task_push_notification_config(
        self, params: GetTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> TaskPushNotificationConfig:
        """Return a webhook of a task."""
        hooks = await self.in_game(access_of(context).hooks, params.task_id)
        for config in wire.configs_of(params.task_id, hooks):
            if config.id == params.id:
                return config
        raise TaskNotFoundError(NO_HOOK.format(task=params.task_id, key=params.id[:64]))

    @validate_request_params
    async def on_list_task_push_notification_configs(
        self, params: ListTaskPushNotificationConfigsRequest, context: ServerCallContext
    ) -> ListTaskPushNotificationConfigsResponse:
        """List the webhooks of a task."""
        hooks = await self.in_game(access_of(context).hooks, params.task_id)
        configs = wire.configs_of(params.task_id, hooks)
        return ListTaskPushNotificationConfigsResponse(configs=configs)

    @validate_request_params
    async def on_delete_task_push_notification_config(
        self, params: DeleteTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> None:
        """Remove a webhook from a task."""
        await self.in_game(access_of(context).remove_hook, params.task_id, params.id)

    async def on_get_extended_agent_card(
        self, params: GetExtendedAgentCardRequest, context: ServerCallContext
    ) -> AgentCard:
        """Refuse: there is no extended card, which would need a token."""
        raise ExtendedAgentCardNotConfiguredError(NO_CARD)


def _may_be_talk(params: SendMessageRequest) -> bool:
    """True if the answer may be a message alone: a new task that no webhook follows."""
    has_hook = params.configuration.HasField("task_push_notification_config")
    return not (params.message.task_id or has_hook)


def _history_length(params: Any) -> int | None:
    """The number of messages that are wanted; None for all."""
    if not params.HasField("history_length"):
        return None
    length = int(params.history_length)
    if length < 0:
        raise InvalidParamsError(BAD_HISTORY.format(length=length))
    return length


def _filters_of(params: ListTasksRequest) -> dict[str, object]:
    filters: dict[str, object] = {}
    if params.context_id:
        # A context that cannot exist gives an empty list, and does not reach the database.
        filters["context"] = params.context_id if params.context_id.isprintable() else ""
    if params.status != TaskState.TASK_STATE_UNSPECIFIED:
        # So does a state that tasks never have here.
        filters["state"] = wire.STATE_NAMES.get(params.status, "")
    if params.HasField("status_timestamp_after"):
        # With UTC: a time without a zone would count as one in the game's own.
        filters["changed_at__gte"] = params.status_timestamp_after.ToDatetime(UTC).timestamp()
    return filters


def _cursor_of(token: str) -> str:
    """Read a page token: time and id of the last task on the page before."""
    if not token:
        return ""
    cursor, at = "", math.nan
    # A token that was made up must not reach the database's query.
    with suppress(ValueError):  # of base64, of UTF-8 or of the number
        cursor = base64.urlsafe_b64decode(token.encode()).decode()
        at = float(cursor.partition(" ")[0])
    if not (math.isfinite(at) and CURSOR.fullmatch(cursor)):
        raise InvalidParamsError(BAD_TOKEN)
    return cursor
