"""Commands of a game that send speech as bare text, each in a different way."""

from typing import Any

from evennia import Command, DefaultCharacter
from evennia.commands.cmdhandler import _CMDSET_MERGE_CACHE
from evennia.commands.cmdset import CmdSet

import evennia_ai


class CmdBareSay(Command):
    """Say something to all who are here.

    Usage:
      say <words>
    """

    key = "say"

    def func(self) -> None:
        """Send a bare line to each."""
        words = self.args.strip()
        for being in self.caller.location.contents:
            being.msg(f'{self.caller.key} says, "{words}"')


class CmdSaySent(CmdBareSay):
    """Say something to all who are here, with the sender alone.

    Usage:
      say <words>
    """

    def func(self) -> None:
        """Name the sender, but not the kind of message."""
        words = self.args.strip()
        for being in self.caller.location.contents:
            being.msg(f'{self.caller.key} says, "{words}"', from_obj=self.caller)


class CmdSayAdapted(CmdBareSay):
    """Say something to all who are here, assistants too.

    Usage:
      say <words>
    """

    def func(self) -> None:
        """Send the bare line, and tell assistants of it."""
        super().func()
        evennia_ai.hear(self.caller.location, self.args.strip(), self.caller)


class Herald(DefaultCharacter):
    """A character whose speech is bare text, whichever command it comes by."""

    def at_say(self, message: str, **kwargs: Any) -> None:
        self.location.msg_contents(f"{self.key} declares: {message}")


class CmdBareWhisper(Command):
    """Whisper to somebody who is here.

    Usage:
      whisper <name> <words>
    """

    key = "whisper"

    def func(self) -> None:
        """Send a bare line to one."""
        name, _, words = self.args.strip().partition(" ")
        if (being := self.caller.search(name)) is not None:
            being.msg(f'{self.caller.key} whispers, "{words}"')
            evennia_ai.hear(being, words, self.caller, "whisper")


def set_of(*kinds: type[Command]) -> type[CmdSet]:
    class OwnSpeech(CmdSet):
        key = "OwnSpeech"
        priority = 10

        def at_cmdset_creation(self) -> None:
            for kind in kinds:
                self.add(kind())

    return OwnSpeech


def use(person: Any, *kinds: type[Command]) -> None:
    """Let somebody speak by these commands alone."""
    person.cmdset.remove("OwnSpeech")
    # The cache knows sets by their memory address, which a new set may share with an old one.
    _CMDSET_MERGE_CACHE.clear()
    person.cmdset.add(set_of(*kinds))
