"""Protocols for Evennia's objects as this package uses them, since Evennia has no type hints.

To a type checker everything from Evennia is `Any` and therefore fits. The protocols tell readers
what a parameter is and which of its attributes are used. Attributes typed `Any` are Evennia's
handlers, described in its documentation.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Protocol


class TypedObject(Protocol):
    """An entity in Evennia's database: an object, an account, a script or a channel."""

    key: str
    pk: int | None
    id: int
    dbref: str
    typeclass_path: str
    db_typeclass_path: str
    path: str
    typename: str
    db: Any
    ndb: Any
    attributes: Any
    tags: Any
    locks: Any
    aliases: Any
    permissions: Any
    access: Callable[..., bool]
    delete: Callable[[], bool]
    flush_from_cache: Callable[..., None]
    swap_typeclass: Callable[..., None]


class Being(TypedObject, Protocol):
    """An entity that has a name, receives messages and is checked by locks: object or account."""

    name: str
    sessions: Any
    cmdset: Any
    cmdset_storage: Any
    is_superuser: bool
    execute_cmd: Callable[..., Any]
    msg: Callable[..., Any]
    get_display_name: Callable[..., str]
    check_permstring: Callable[[str], bool]
    at_pre_channel_msg: Callable[..., Any]
    channel_msg: Callable[..., Any]
    at_post_channel_msg: Callable[..., Any]


class GameObject(Being, Protocol):
    """An object, character, exit or room, with the hooks that Evennia's commands call."""

    location: Any
    db_lock_storage: str
    db_account_id: int | None
    home: Any
    contents: Any
    contents_cache: Any
    account: Any
    has_account: Any
    assistant_script: Any  # only on the body of an assistant
    move_to: Callable[..., bool]
    search: Callable[..., Any]
    msg_contents: Callable[..., Any]
    at_pre_say: Callable[..., Any]
    get_display_desc: Callable[..., str]
    get_numbered_name: Callable[..., Any]
    filter_visible: Callable[..., Any]
    destination: Any
    at_traverse: Callable[..., bool | None]
    at_failed_traverse: Callable[..., None]
    at_pre_get: Callable[..., bool]
    at_get: Callable[..., None]
    at_pre_drop: Callable[..., bool]
    at_drop: Callable[..., None]
    at_pre_give: Callable[..., bool]
    at_give: Callable[..., None]


class Account(Being, Protocol):
    """A player's account, connected or not."""

    username: str
    is_active: bool
    has_usable_password: Callable[[], bool]
    get_all_puppets: Callable[[], list[Any]]


class Channel(TypedObject, Protocol):
    """A chat channel."""

    subscriptions: Any
    mutelist: Any
    send_to_online_only: bool
    msg: Callable[..., Any]
    channel_prefix: Callable[..., str]
    at_pre_msg: Callable[..., Any]
    at_post_msg: Callable[..., Any]


class Script(TypedObject, Protocol):
    """A script; in the database an assistant is one."""

    obj: Any
    db_date_created: Any
    db_is_active: bool


class Reactor(Hashable, Protocol):
    """Twisted's reactor, or a test's clock in its place."""

    seconds: Callable[[], float]
    callLater: Callable[..., Any]  # noqa: N815 - Twisted's name
    callFromThread: Callable[..., Any]  # noqa: N815
