"""The permissions of an assistant's body, which shrink while a person makes it act by order.

Somebody who runs a tool by hand must not get anything done that they may not do themselves. The
game's commands check locks against the body that types them, and see only its permissions.
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
    """The permissions of a body: all that it holds, or only what the order givers hold too."""

    def __init__(self, obj: GameObject) -> None:
        """Set up the permissions that are stored for a body."""
        super().__init__(obj)
        self._givers: list[Being] = []

    @contextmanager
    def shared_with(self, givers: Sequence[Being]) -> Iterator[None]:
        """Hold no more than each of these people does, within the block."""
        self._givers += givers
        try:
            yield
        finally:
            # One by one: orders may overlap, and need not end in the order in which they began.
            for giver in givers:
                self._givers.remove(giver)

    def all(self, *args: Any, **kwargs: Any) -> list[Any]:
        """The permissions, as strings unless the arguments ask for something else."""
        permissions: list[Any] = super().all(*args, **kwargs)
        # Locks ask without arguments; a caller with arguments wants to list or edit them.
        for giver in self._givers if not (args or kwargs) else ():
            permissions = [name for own in permissions if (name := _shared(str(own), giver))]
        return permissions


def _shared(name: str, person: Being) -> str:
    """A permission as far as a person holds it too: the same, a lower rank, or ""."""
    ranks = [rank.casefold() for rank in settings.PERMISSION_HIERARCHY]
    # Evennia accepts plural ranks too, such as "Builders".
    single = name.casefold().removesuffix("s")
    lesser = reversed(ranks[: ranks.index(single)]) if single in ranks else ()
    return next((each for each in (name, *lesser) if _holds(person, each)), "")


def _holds(person: Being, permission: str) -> bool:
    lock = f"{_ACCESS}:perm({permission})"
    return bool(person.locks.check_lockstring(seen(person), lock, access_type=_ACCESS))
