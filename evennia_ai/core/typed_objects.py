"""The shapes of Evennia's objects as this package uses them; Evennia itself has no type hints.

Whatever Evennia gives fits them, since a type checker knows nothing of it. They say what a
parameter is, and which of its names are read. What is `Any` is a handler of Evennia's, as its own
documentation describes it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Protocol


class TypedObject(Protocol):
    """Something that Evennia keeps in its database: an object, an account, a script, a channel."""

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
    swap_typeclass: Callable[..., None]


class Being(TypedObject, Protocol):
    """Somebody who has a name, is told things and stands before locks: an object or an account."""

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
    """An object, a character, an exit or a room; its hooks are called as Evennia's commands do."""

    location: Any
    db_account_id: int | None
    home: Any
    contents: Any
    account: Any
    has_account: Any
    assistant_script: Any  # of bodies alone
    move_to: Callable[..., bool]
    search: Callable[..., Any]
    msg_contents: Callable[..., Any]
    at_pre_say: Callable[..., Any]
    get_display_desc: Callable[..., str]
    get_numbered_name: Callable[..., Any]
    filter_visible: Callable[..., Any]
    destination: Any
    at_traverse: Callable[..., None]
    at_failed_traverse: Callable[..., None]
    at_pre_get: Callable[..., bool]
    at_get: Callable[..., None]
    at_pre_drop: Callable[..., bool]
    at_drop: Callable[..., None]
    at_pre_give: Callable[..., bool]
    at_give: Callable[..., None]


class Account(Being, Protocol):
    """An account: somebody who is connected, or may be."""

    username: str
    is_active: bool
    has_usable_password: Callable[[], bool]
    get_all_puppets: Callable[[], list[Any]]


class Channel(TypedObject, Protocol):
    """A channel that people talk on."""

    subscriptions: Any
    mutelist: Any
    send_to_online_only: bool
    msg: Callable[..., Any]
    channel_prefix: Callable[..., str]
    at_pre_msg: Callable[..., Any]
    at_post_msg: Callable[..., Any]


class Script(TypedObject, Protocol):
    """A script: what an assistant is to the database."""

    obj: Any
    db_date_created: Any


class Reactor(Hashable, Protocol):
    """Twisted's reactor, or a test's clock: tells seconds, and calls later or from a thread."""

    seconds: Callable[[], float]
    callLater: Callable[..., Any]  # noqa: N815 - Twisted's name
    callFromThread: Callable[..., Any]  # noqa: N815
