"""The command `page`, so that pages reach assistants too, who have no account."""

from __future__ import annotations

from copy import copy
from typing import Any

from evennia import default_cmds
from evennia.accounts.models import AccountDB
from evennia.commands.cmdhandler import cmdhandler

from evennia_ai import operations
from evennia_ai.inbound import SPEECH_MARK
from evennia_ai.outbound import literal


class CmdPage(default_cmds.MuxCommand):
    """
    Send a private message to somebody who is somewhere else.

    Usage:
      page <player or assistant> = <message>
      page <assistant> <message>
      page <message>                    - to whom you paged last

    Everything else about pages works as ever; see also: page/last, page/list.
    """

    key = "page"
    aliases = ("tell",)
    locks = "cmd:not pperm(page_banned)"
    help_category = "Comms"
    account_caller = True

    def func(self) -> None:
        """Page the assistants that are named; the game's own command does the rest."""
        names, message = self._split()
        assistants = [found for name in names if (found := self._find(name)) is not None]
        if not assistants or not message:
            if names:
                self.caller.ndb.paged_assistant = None
            self._pass_on(self._rest())
            return
        for script in assistants:
            self._page(script, message)
        others = [name for name in names if self._find(name) is None]
        if others:
            self._pass_on(f"{', '.join(others)} = {message}")

    def _split(self) -> tuple[list[str], str]:
        """Whom to page, and what to say."""
        if self.switches or not self.args or self.args.strip().isnumeric():
            return [], ""
        if self.rhs is not None:
            return self.lhslist, self.rhs
        name, _, message = self.args.strip().partition(" ")
        if message and (self._find(name) or AccountDB.objects.filter(username__iexact=name)):
            return [name], message.strip()
        last = self.caller.ndb.paged_assistant
        return ([last] if last else []), self.args.strip()

    def _find(self, name: str) -> Any:
        """The assistant of that name; a player's account of the same name goes before."""
        script = operations.find_assistant(name)
        if script is None or script.obj is None:
            return None
        account = AccountDB.objects.filter(username__iexact=name.strip()).first()
        is_its_own = account is None or account.db.assistant_body == script.obj
        return script if is_its_own else None

    def _page(self, script: Any, message: str) -> None:
        self.caller.ndb.paged_assistant = script.key
        name = literal(script.key)
        line = f"|wAccount|n |c{self.caller.key}|n |wpages:|n {message}"
        self.msg(f"You paged |c{name}|n with: '{message}'.")
        script.obj.msg(text=(line, {"type": "page", SPEECH_MARK: message}), from_obj=self.caller)

    def _rest(self) -> str:
        switches = "".join(f"/{switch}" for switch in self.switches)
        return f"{switches} {self.args}".strip()

    def _pass_on(self, args: str) -> None:
        """Let the game's own page command, the account's, do it."""
        theirs = self.caller.cmdset.current.get("page")
        if theirs is None:
            self.msg("There is nobody of that name to page.")
            return
        cmdhandler(
            self.caller,
            args if args.startswith("/") else f" {args}",
            callertype="account",
            session=self.session,
            cmdobj=copy(theirs),
            cmdobj_key="page",
        )
