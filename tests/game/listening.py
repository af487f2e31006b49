"""A test case of hearing: the newest record of what reached Ada, and its verdict."""

from typing import Any

from evennia.comms.models import ChannelDB
from evennia.utils.create import create_channel

from evennia_ai.core.hearing.decision_traces import DecisionTrace
from evennia_ai.core.hearing.perception import Heard
from evennia_ai.messages import incoming
from evennia_ai.runtime import state
from tests.game.support import GameTest, pump

OPEN = "send:all();listen:all();control:perm(Builder)"


class HearingTest(GameTest):
    """Access to Ada's records of what she heard."""

    def records(self, script: Any = None) -> list[DecisionTrace]:
        return (script or self.ada_script).work.decisions.newest()

    def heard(self) -> Heard:
        return self.records()[0].heard

    def judged(self, script: Any = None) -> str:
        """The verdict on the newest message: rule, its name, and the result."""
        verdict = self.records(script)[0].verdict
        return f"{verdict.rule} {verdict.name} {verdict.outcome.value}"

    def steps(self, script: Any = None) -> list[str]:
        return [step for step, _ in self.records(script)[0].steps]

    def bodies(self) -> list[str]:
        """The words of all that Ada heard, oldest first."""
        return [record.heard.body for record in reversed(self.records())]

    def channel(self, key: str = "Public", *listeners: Any) -> Any:
        channel = ChannelDB.objects.filter(db_key=key).first() or create_channel(key, locks=OPEN)
        channel.get_log_filename = str  # it keeps no file
        for listener in (self.ada, *listeners):
            channel.connect(listener)
        return channel

    def person(self, being: Any) -> str:
        return incoming.person_of(being)

    def set(self, **values: Any) -> None:
        """Set attributes of Ada as her owner does, at a Python prompt in the game."""
        for name, value in values.items():
            setattr(self.ada_script.db, name, value)

    def stored(self, name: str) -> Any:
        return state.read(self.ada_script, name)

    def restart(self) -> None:
        """Shut Ada down as a server does, and start her again."""
        self.ada_script.at_server_shutdown()
        self.ada_script.at_start()
        pump()
