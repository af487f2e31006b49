"""A test case of rights: people of each rank with accounts, who type commands."""

from typing import Any

import evennia
from evennia.utils.create import create_object

from evennia_ai import operations
from evennia_ai.commands import AssistantCmdSet
from evennia_ai.runtime import state
from tests.game.people import Person
from tests.game.support import GameTest, account_with, pump
from tests.online import log_in


class RightsTest(GameTest):
    """Bea and Bob are builders, Ann is an admin, Pia a player; all stand beside Ada."""

    def setUp(self) -> None:
        super().setUp()
        self.bea, self.bob = self.person("Bea", "Builder"), self.person("Bob", "Builder")
        self.ann, self.pia = self.person("Ann", "Admin"), self.person("Pia", "Player")
        self.tom.cmdset.add(AssistantCmdSet)

    def person(self, name: str, permission: str, of_body: str = "Player") -> Any:
        account = account_with(name, permission)
        body = create_object(Person, key=name, location=self.room1, home=self.room1)
        body.permissions.add(of_body)
        body.account = account
        account.db._last_puppet = body
        body.cmdset.add(AssistantCmdSet)
        body.locks.cache_lock_bypass(body)
        return body

    def come_online(self, account: Any) -> Any:
        session = log_in(account)
        self.addCleanup(evennia.SESSION_HANDLER.pop, session.sessid, None)
        return session

    def begin_anew(self, script: Any) -> None:
        """Start an assistant as after a restart of the game."""
        script.at_pause()
        script.at_start()
        self.answer_at_once(script)
        pump()

    def as_before(self, control: str = "perm(Builder)") -> None:
        """Give Ada's body the locks that older versions made."""
        for kind in ("ai_control", "control", "delete", "edit"):
            self.ada.locks.remove(kind)
        self.ada.locks.add(f"control:{control};delete:perm(Admin);edit:perm(Admin)")

    def set(self, **settings: Any) -> None:
        state.write(self.ada_script, **settings)

    def made(self, name: str) -> Any:
        return operations.find_assistant(name)
