"""Evennia's usual world of a test, built once a class: each test finds it as it was built.

Evennia's own classes build two accounts, two rooms, two characters and more for each test, and
delete the accounts again: more than half of the time of a small test. Here they are built in the
transaction of the class; what a test does to them is rolled back, and each test reads them anew.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import evennia
from evennia.accounts.models import AccountDB
from evennia.comms.models import ChannelDB
from evennia.objects.models import ObjectDB
from evennia.scripts.models import ScriptDB
from evennia.utils.test_resources import EvenniaTestMixin

NAMES = (
    *("account", "account2", "room1", "room2", "exit"),
    *("obj1", "obj2", "char1", "char2", "script"),
)


def forget_instances() -> None:
    """Empty Evennia's caches, also of what it protects because it has `ndb` values."""
    for model in (AccountDB, ChannelDB, ObjectDB, ScriptDB):
        model.flush_instance_cache(force=True)


class StandingWorld(EvenniaTestMixin):
    """Before one of Evennia's test classes among the bases: its world is built once a class."""

    _built: ClassVar[dict[str, tuple[type[Any], int]]]

    @classmethod
    def setUpTestData(cls) -> None:
        """Build what Evennia's test class builds, and note which rows it is."""
        super().setUpTestData()
        cls.build_once(cls())

    @classmethod
    def build_once(cls, builder: Self) -> None:
        """Build it with one instance of the class; a class may add to it."""
        for part in ("accounts", "rooms", "objs", "chars", "script"):
            getattr(super(StandingWorld, builder), f"create_{part}")()
        cls._built = {n: (type(getattr(builder, n)), getattr(builder, n).pk) for n in NAMES}

    def create_accounts(self) -> None:
        """Read all that was built, as a game does that is started again."""
        forget_instances()
        for name, (kind, pk) in self._built.items():
            setattr(self, name, kind.objects.get(pk=pk))

    def create_rooms(self) -> None:
        """They are there."""

    create_objs = create_chars = create_script = create_rooms

    def teardown_accounts(self) -> None:
        """They are rolled back; what is left is whoever is still logged in."""
        evennia.SESSION_HANDLER.clear()
