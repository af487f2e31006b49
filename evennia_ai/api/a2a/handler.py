"""Requests of peers, each method of the protocol in its order; both bindings come here."""

from __future__ import annotations

import asyncio
import base64
import binascii
import math
import re
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
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
from evennia_ai.api.a2a.calls import CallRefusedError, Desk
from evennia_ai.api.a2a.context import IDS, LAST_EVENT, desk_of, end_turn
from evennia_ai.api.a2a.push import check_url
from evennia_ai.api.a2a.snapshots import TaskSnapshot
from evennia_ai.api.a2a.streams import Hub
from evennia_ai.core.settings.services import A2aConfig
from evennia_ai.operations.result import ProblemKind
from evennia_ai.runtime.game_thread import GameBusyError, run_async
from evennia_ai.runtime.web_requests import api_config
from evennia_ai.tasks import peer_store

PAGE, MOST_ON_PAGE, MOST_WITH_MADE = 50, 100, 20
# So long a stream waits whether all that comes is mere words, before it tells of a task.
TALK_SECONDS = 1.0
BAD_PAGE = "A page has 1 to 100 tasks, not {size}."
BAD_HISTORY = "historyLength is a number from 0 up, not {length}."
BAD_TOKEN = "This pageToken is none of those that were given out."
NO_HOOK = "Task {task} tells no address by the name {key!r}."
NO_CARD = "There is one card of each assistant, and everybody may have it."
IS_OVER = "Task {task} is over; get it instead."
OTHER_CONTEXT = "Task {task} belongs to another contextId."
MARK = re.compile(r"[0-9.e+-]{1,40} [0-9a-f-]{36}")
ERRORS: dict[ProblemKind, type[A2AError]] = {
    ProblemKind.MISSING: TaskNotFoundError,
    ProblemKind.INVALID: InvalidParamsError,
    ProblemKind.CONFLICT: UnsupportedOperationError,
    ProblemKind.FORBIDDEN: UnsupportedOperationError,
    ProblemKind.UNAVAILABLE: UnsupportedOperationError,
}


class Handler(RequestHandler):
    """All that the protocol knows, for every assistant of the game."""

    def __init__(self, config: A2aConfig, hub: Hub) -> None:
        self._config, self._hub = config, hub
        # One at a time, of those that wait no longer for their turn too.
        self._places = asyncio.Semaphore(1)

    async def in_game(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """The value of a function in the game's thread.

        Raises:
            A2AError: it was refused, or the game has no time.
        """
        async with self._places:
            try:
                return await run_async(
                    partial(function, *arguments), api_config().long_timeout_seconds
                )
            except CallRefusedError as error:
                raise _told(error) from None
            except GameBusyError as error:
                raise InternalError(f"{error}.") from None

    # ---- tasks -----------------------------------------------------------------------------

    @validate_request_params
    async def on_message_send(
        self, params: SendMessageRequest, context: ServerCallContext
    ) -> Task | Message:
        """Give a task or answer a question, and wait until it is over or asks something.

        Returns:
            The task; of a new one that was answered with mere words, these.
        """
        desk, length = desk_of(context), _history_of(params.configuration)
        with self._place(desk):
            shown = await self._send(desk, params, context)
            if not params.configuration.return_immediately:
                # It may wait for minutes, in which others are to be served.
                end_turn(context)
                shown = await self._wait(desk, shown)
                if shown.is_talk and _may_be_talk(params):
                    return wire.message_of(shown)
        return wire.task_of(shown, history=length)

    async def _send(
        self, desk: Desk, params: SendMessageRequest, context: ServerCallContext
    ) -> TaskSnapshot:
        given, hook, task = wire.given_of(params), None, params.message.task_id
        if params.configuration.HasField("task_push_notification_config"):
            config = params.configuration.task_push_notification_config
            # The same name for the same address, so that a message sent again adds none.
            hook = wire.hook_of(config, str(uuid5(NAMESPACE_URL, config.url)))
            await self.in_game(desk.check, given, task, hook)
            end_turn(context)  # a host may take long to be found
            await check_url(config.url, self._config)
        if task and given.context:
            known: TaskSnapshot = await self.in_game(desk.get, task)
            if known.context != given.context:
                raise InvalidParamsError(OTHER_CONTEXT.format(task=task))
        shown: TaskSnapshot = await self.in_game(desk.send, given, task, hook)
        return shown

    async def _wait(self, desk: Desk, shown: TaskSnapshot) -> TaskSnapshot:
        """A task that is over or asks something."""
        with self._hub.watch(shown.id) as news:
            while shown.state == peer_store.WORKING:
                shown = await self.in_game(desk.get, shown.id)
                if shown.state == peer_store.WORKING:
                    await news.wait()
                # Before it is read again: what happens meanwhile sets it anew.
                news.clear()
        return shown

    @validate_request_params
    async def on_message_send_stream(
        self, params: SendMessageRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event]:
        """Give a task or answer a question, and tell all that happens until it is over."""
        desk = desk_of(context)
        with self._place(desk):
            shown = await self._send(desk, params, context)
            end_turn(context)
            if _may_be_talk(params) and (said := await self._talk(desk, shown)) is not None:
                context.state[IDS].append(said.seq)
                yield wire.message_of(said)
                return
            with self._hub.watch(shown.id) as news:
                news.set()  # there may have been some between
                async for event in self._follow(desk, shown, shown.seq, context, news):
                    yield event

    async def _talk(self, desk: Desk, shown: TaskSnapshot) -> TaskSnapshot | None:
        """A task that was answered with mere words within a moment; None for any other."""
        with suppress(TimeoutError):
            async with asyncio.timeout(TALK_SECONDS):
                shown = await self._wait(desk, shown)
        return shown if shown.is_talk else None

    @validate_request_params
    async def on_subscribe_to_task(
        self, params: SubscribeToTaskRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event]:
        """All that happens to a task, since the event that the header Last-Event-ID names."""
        desk, since = desk_of(context), context.state[LAST_EVENT]
        # Watched before it is read, so that nothing falls in between.
        with self._place(desk), self._hub.watch(params.id) as news:
            shown: TaskSnapshot = await self.in_game(desk.get, params.id)
            if shown.state in peer_store.FINAL and since is None:
                raise UnsupportedOperationError(IS_OVER.format(task=shown.id))
            after = shown.seq if since is None else since
            async for event in self._follow(desk, shown, after, context, news):
                yield event

    async def _follow(
        self,
        desk: Desk,
        shown: TaskSnapshot,
        after: int,
        context: ServerCallContext,
        news: asyncio.Event,
    ) -> AsyncGenerator[Event]:
        """A task, and each thing that happened to it after an event, until it is over.

        Args:
            news: set where anything happened since the task was read.
        """
        context.state[IDS].append(after)
        yield wire.task_of(shown)
        if shown.state in peer_store.FINAL and after >= shown.seq:
            return
        if after < shown.seq:
            news.set()
        while True:
            await news.wait()
            # Before they are read, so that what comes meanwhile is not missed.
            news.clear()
            for told in await self.in_game(desk.happenings, shown.id, after):
                after = told.seq
                context.state[IDS].append(after)
                yield wire.event_of(shown, told)
                if told.data.get("state") in peer_store.FINAL:
                    return

    @validate_request_params
    async def on_get_task(self, params: GetTaskRequest, context: ServerCallContext) -> Task:
        """A task as it stands."""
        length = _history_of(params)
        shown: TaskSnapshot = await self.in_game(desk_of(context).get, params.id)
        return wire.task_of(shown, history=length)

    @validate_request_params
    async def on_list_tasks(
        self, params: ListTasksRequest, context: ServerCallContext
    ) -> ListTasksResponse:
        """Tasks that the caller gave, the last changed first."""
        size = params.page_size if params.HasField("page_size") else PAGE
        if not 1 <= size <= MOST_ON_PAGE:
            raise InvalidParamsError(BAD_PAGE.format(size=size))
        history = _history_of(params) if params.HasField("history_length") else 0
        before, wanted = _mark_of(params.page_token), _wanted(params)
        if params.include_artifacts:
            size = min(size, MOST_WITH_MADE)
        page = partial(desk_of(context).page, with_made=params.include_artifacts)
        shown, following, count = await self.in_game(page, wanted, before, size)
        return ListTasksResponse(
            tasks=[wire.task_of(each, history=history) for each in shown],
            next_page_token=base64.urlsafe_b64encode(following.encode()).decode(),
            page_size=size,
            total_size=count,
        )

    @validate_request_params
    async def on_cancel_task(self, params: CancelTaskRequest, context: ServerCallContext) -> Task:
        """Call a task off."""
        try:
            return wire.task_of(await self.in_game(desk_of(context).cancel, params.id))
        except UnsupportedOperationError as error:
            raise TaskNotCancelableError(error.message) from None

    # ---- addresses that are told -----------------------------------------------------------

    @validate_request_params
    async def on_create_task_push_notification_config(
        self, params: TaskPushNotificationConfig, context: ServerCallContext
    ) -> TaskPushNotificationConfig:
        """Let an address be told of a task."""
        desk, hook = desk_of(context), wire.hook_of(params, str(uuid4()))
        await self.in_game(desk.check_hook, params.task_id, hook)
        end_turn(context)  # a host may take long to be found
        await check_url(params.url, self._config)
        await self.in_game(desk.put_hook, params.task_id, hook)
        return wire.config_of(params.task_id, hook)

    @validate_request_params
    async def on_get_task_push_notification_config(
        self, params: GetTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> TaskPushNotificationConfig:
        """An address of a task, by its name."""
        hooks = await self.in_game(desk_of(context).hooks, params.task_id)
        for config in wire.configs_of(params.task_id, hooks):
            if config.id == params.id:
                return config
        raise TaskNotFoundError(NO_HOOK.format(task=params.task_id, key=params.id[:64]))

    @validate_request_params
    async def on_list_task_push_notification_configs(
        self, params: ListTaskPushNotificationConfigsRequest, context: ServerCallContext
    ) -> ListTaskPushNotificationConfigsResponse:
        """The addresses of a task."""
        hooks = await self.in_game(desk_of(context).hooks, params.task_id)
        configs = wire.configs_of(params.task_id, hooks)
        return ListTaskPushNotificationConfigsResponse(configs=configs)

    @validate_request_params
    async def on_delete_task_push_notification_config(
        self, params: DeleteTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> None:
        """Tell an address no more."""
        await self.in_game(desk_of(context).remove_hook, params.task_id, params.id)

    async def on_get_extended_agent_card(
        self, params: GetExtendedAgentCardRequest, context: ServerCallContext
    ) -> AgentCard:
        """There is none."""
        raise ExtendedAgentCardNotConfiguredError(NO_CARD)

    def _place(self, desk: Desk) -> Any:
        return _placed(self._hub, desk)


class _placed:  # noqa: N801  used as a function
    """A place for one that waits, whose refusal is an error of the protocol."""

    def __init__(self, hub: Hub, desk: Desk) -> None:
        self._place = hub.place(desk.caller.pk)

    def __enter__(self) -> None:
        try:
            self._place.__enter__()
        except CallRefusedError as error:
            raise _told(error) from None

    def __exit__(self, *error: Any) -> None:
        self._place.__exit__(*error)


def _may_be_talk(params: SendMessageRequest) -> bool:
    """True for a new message of which nothing is told elsewhere."""
    has_hook = params.configuration.HasField("task_push_notification_config")
    return not (params.message.task_id or has_hook)


def _told(error: CallRefusedError) -> A2AError:
    return ERRORS.get(error.problem, UnsupportedOperationError)(str(error))


def _history_of(params: Any) -> int | None:
    """The number of messages that are wanted; None: all."""
    if not params.HasField("history_length"):
        return None
    length = int(params.history_length)
    if length < 0:
        raise InvalidParamsError(BAD_HISTORY.format(length=length))
    return length


def _wanted(params: ListTasksRequest) -> dict[str, object]:
    """The filters of a list, as rows have them."""
    wanted: dict[str, object] = {}
    if params.context_id:
        # What could be no contextId is a list of none.
        wanted["context"] = params.context_id if params.context_id.isprintable() else ""
    if params.status != TaskState.TASK_STATE_UNSPECIFIED:
        # A state that no task here comes into is a list of none.
        wanted["state"] = wire.WORDS.get(params.status, "")
    if params.HasField("status_timestamp_after"):
        wanted["changed_at__gte"] = params.status_timestamp_after.ToDatetime().timestamp()
    return wanted


def _mark_of(token: str) -> str:
    """The end of the page before."""
    if not token:
        return ""
    try:
        mark = base64.urlsafe_b64decode(token.encode()).decode()
    except (binascii.Error, UnicodeError):
        mark = ""
    if not (MARK.fullmatch(mark) and _is_moment(mark.partition(" ")[0])):
        raise InvalidParamsError(BAD_TOKEN)
    return mark


def _is_moment(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
