"""The permissions of an assistant's body, which shrink while somebody makes it act by order.

Whoever has a tool run by hand shall get nothing done by it that he may not do himself. The game's
commands ask locks of the body that types them; what the body holds is all that they see of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from evennia.typeclasses.tags import PermissionHandler

from evennia_ai.core.typed_objects import Being, GameObject
from evennia_ai.runtime.rights.people import seen

_ACCESS = "ai_permission"


class LentPermissions(PermissionHandler):
    """The permissions of a body: all that it holds, or what those who give it orders hold too."""

    def __init__(self, obj: GameObject) -> None:
        """Hold what is stored for a body."""
        super().__init__(obj)
        self._givers: list[Being] = []

    @contextmanager
    def shared_with(self, givers: Sequence[Being]) -> Iterator[None]:
        """Hold no more than each of these people does, until this is left."""
        self._givers += givers
        try:
            yield
        finally:
            # One by one: orders may overlap, and end in another order than they began.
            for giver in givers:
                self._givers.remove(giver)

    def all(self, *args: Any, **kwargs: Any) -> list[Any]:
        """The permissions, as texts unless something else is asked for."""
        held: list[Any] = super().all(*args, **kwargs)
        # Locks ask without arguments; with some, a caller wants rows or categories to list.
        for giver in self._givers if not (args or kwargs) else ():
            held = [name for own in held if (name := _shared(str(own), giver))]
        return held


def _shared(name: str, person: Being) -> str:
    """A permission as far as a person has it too: itself, a lesser rank, or ""."""
    ranks = [rank.casefold() for rank in settings.PERMISSION_HIERARCHY]
    # Evennia takes a rank in the plural as well, such as "Builders".
    single = name.casefold().removesuffix("s")
    lesser = reversed(ranks[: ranks.index(single)]) if single in ranks else ()
    return next((each for each in (name, *lesser) if _holds(person, each)), "")


def _holds(person: Being, permission: str) -> bool:
    lock = f"{_ACCESS}:perm({permission})"
    return bool(person.locks.check_lockstring(seen(person), lock, access_type=_ACCESS))
