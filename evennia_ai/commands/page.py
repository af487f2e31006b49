"""The command `page`, extended so that pages reach assistants, which have no account."""

from __future__ import annotations

from copy import copy
from typing import Any

from evennia import default_cmds
from evennia.accounts.models import AccountDB
from evennia.commands.cmdhandler import cmdhandler
from evennia.objects.models import ObjectDB

from evennia_ai import operations
from evennia_ai.messages.incoming import SPEECH_MARK
from evennia_ai.messages.lines import literal
from evennia_ai.operations import AssistantScript
from evennia_ai.operations.naming import BODY_OF_ACCOUNT, begun, called, knows_key, name_before

# The prefix of accounts in Evennia's own commands.
PLAYER = "*"


def _account_called(name: str) -> Any:
    return AccountDB.objects.filter(username__iexact=name.strip()).first()


def _begins_a_player(name: str) -> bool:
    """True for the beginning of the name of a player's account or of a played character."""
    accounts = AccountDB.objects.filter(username__istartswith=name)
    players = accounts.exclude(db_attributes__db_key=BODY_OF_ACCOUNT)
    played = ObjectDB.objects.filter(db_account__isnull=False, db_key__istartswith=name)
    bodies = (getattr(each, "assistant_script", None) for each in played)
    return players.exists() or any(script is None for script in bodies)


class CmdPage(default_cmds.MuxCommand):
    """
    Send a private message to somebody who is somewhere else.

    Usage:
      page <player or assistant> = <message>
      page <assistant> <message>
      page <message>                    - to whom you paged last
      page *<player> = <message>        - the player, if an assistant has it

    Everything else works as in the game's own command; see also: page/last,
    page/list.
    """

    key = "page"
    locks = "cmd:not pperm(page_banned)"
    help_category = "Comms"
    # `caller` is the account, also in character, as in Evennia's own command.
    account_caller = True

    def func(self) -> None:
        """Page the named assistants, and leave the rest to the game's own command."""
        if self.caller is None:  # a character without an account, which has our commands too
            self.character.msg("Only players can page.")
            return
        names, message = self._split()
        meant = {name: self._find_begun(name) for name in names}
        others = [name.removeprefix(PLAYER) for name, script in meant.items() if script is None]
        if not names or not message:
            self._pass_on(self._rest())
            return
        # `page <message>` then goes to whom the game's own command remembers.
        if len(others) == len(names):
            self.caller.ndb.paged_assistant = None
        # By assistant: one that is named twice, also by an alias, is paged once.
        for script, name in {script: name for name, script in meant.items() if script}.items():
            self._page(script, message)
            self._tell_of_player(name, script)
        if others:
            self._pass_on(f"{', '.join(others)} = {message}")

    def _split(self) -> tuple[list[str], str]:
        if self.switches or not self.args or self.args.strip().isnumeric():
            return [], ""
        if self.rhs is not None:
            return [name for name in self.lhslist if name], self.rhs
        line = self.args.strip()
        for count in range(self._most_words(), 0, -1):  # longest name first
            *words, message = line.split(None, count)
            name = " ".join(words)
            if len(words) == count and self._find(name):
                return [name], message
        name, _, message = line.partition(" ")
        if message and _account_called(name.removeprefix(PLAYER)):
            return [name], message.strip()
        last = self.caller.ndb.paged_assistant
        return ([last] if last else []), self.args.strip()

    def _most_words(self) -> int:
        """The number of words in the longest name by which the caller may call an assistant."""
        bodies = [each.obj for each in operations.list_assistants() if each.obj is not None]
        names = [name for body in bodies for name in (str(body.key), *called(body, self.caller))]
        return max((len(name.split()) for name in names), default=1)

    def _find(self, name: str) -> Any:
        """The assistant with this name, which takes precedence over a player of the same name."""
        script = None if name.startswith(PLAYER) else operations.assistant_for(name, self.caller)
        return script if script is not None and script.obj is not None else None

    def _find_begun(self, name: str) -> Any:
        """The same; the beginning of a name is enough if it is that of no other and no player."""
        script = self._find(name)
        if script is not None or name.startswith(PLAYER) or _begins_a_player(name):
            return script
        known = [each for each in operations.list_assistants() if knows_key(each, self.caller)]
        near = [each for each in begun(name, self.caller, known) if each.obj is not None]
        return near[0] if len(near) == 1 else None

    def _tell_of_player(self, name: str, script: AssistantScript) -> None:
        """Tell the caller how to page a player of the same name, if there is one."""
        account = _account_called(name)
        if account is not None and account.db.assistant_body != script.obj:
            player = literal(account.key)
            self.msg(
                f"That went to {self._name(script)}, the assistant. A player is called {player} "
                f"too; to page the player type: page {PLAYER}{player} = <message>"
            )

    def _name(self, script: AssistantScript) -> str:
        return literal(name_before(script, self.caller))

    def _page(self, script: AssistantScript, message: str) -> None:
        self.caller.ndb.paged_assistant = name_before(script, self.caller)
        name = self._name(script)
        line = f"|wAccount|n |c{self.caller.key}|n |wpages:|n {message}"
        self.msg(f"You paged |c{name}|n with: '{message}'.")
        script.obj.msg(text=(line, {"type": "page", SPEECH_MARK: message}), from_obj=self.caller)

    def _rest(self) -> str:
        switches = "".join(f"/{switch}" for switch in self.switches)
        return f"{switches} {self.args}".strip()

    def _pass_on(self, args: str) -> None:
        """Run the game's own `page`, from the account's command set."""
        theirs = self.caller.cmdset.current.get("page")
        if theirs is None:
            self.msg("There is no character or object named that to page.")
            return
        cmdhandler(
            self.caller,
            # Evennia only parses switches directly after the command's name.
            args if args.startswith("/") else f" {args}",
            callertype="account",
            session=self.session,
            # A copy: the command in the set is shared by all who use it at the same time.
            cmdobj=copy(theirs),
            cmdobj_key="page",
        )
