"""The subcommand `assistant token`: access tokens for programs."""

from __future__ import annotations

from typing import Any

from evennia.accounts.accounts import DefaultAccount
from evennia.accounts.models import AccountDB

from evennia_ai import operations
from evennia_ai.commands.base import first_word, number_of
from evennia_ai.commands.words import WordCommand, subcommand

NEW, REVOKE, OF, ALL = "new", "revoke", "of", "all"
OF_OTHERS = "tokens of others"


class TokenWords(WordCommand):
    """The subcommand that lists, creates and revokes tokens."""

    @subcommand(
        "assistant token, assistant token new [<what for>] [= read | usual | write], assistant "
        "token revoke <number> | all, assistant token of <account>, assistant token revoke "
        "<number> | all of <account>",
        "Tokens for programs that use the game's REST API or its MCP server in your name: lists "
        "yours and when each was last used, makes a new one (shown once), or revokes one or all. "
        "With `read` a program can change nothing; by default it can over REST, and with `write` "
        "over MCP too. Tokens expire after a time, and when you change your password. Owners of "
        "the game may see and revoke those of others.",
        is_for_all=True,
    )
    def _token(self, rest: str) -> None:
        """`token`, `token new backup = read`, `token revoke 3`, `token revoke all of Tom`."""
        word, more = first_word(rest)
        if word == NEW:
            self._new(more)
        elif word == REVOKE:
            self._revoke(more)
        elif not word or (word == OF and more):
            account = self._token_owner(more)
            if account is not None:
                self.show_long(operations.list_tokens(account).message)
        else:
            self.show_usage(f"There is no 'assistant token {rest}'.")

    def _new(self, rest: str) -> None:
        name, has_scope, scope = (part.strip() for part in rest.partition("="))
        account = self._token_owner("")
        # The token is shown once, so it must not go to a command that was forced on somebody.
        if account is not None and self.session is None:
            self.show_usage("You can make a token only for yourself.")
        elif account is not None:
            options = {"scope": scope.casefold()} if has_scope else {}
            self.show(operations.make_token(account, name, **options))

    def _revoke(self, rest: str) -> None:
        which, _, name = rest.partition(f" {OF} ")
        which = which.strip().casefold()
        account = self._token_owner(name.strip())
        if which == ALL and account is not None:
            self.show(operations.revoke_tokens(account, by=self.by))
        elif (number := number_of(which)) is not None and account is not None:
            self.show(operations.revoke_token(account, number, by=self.by))
        elif account is not None:
            self.show_usage(f"{rest!r} is not the number of a token.")

    def _token_owner(self, name: str) -> Any:
        """The account with a name, if the caller may manage it; without a name, the caller's."""
        # The caller is a character, or an account that is out of character.
        own = self.caller
        if not isinstance(own, DefaultAccount):
            own = getattr(own, "account", None)
        if not name:
            if own is None:
                self.show_usage("Only accounts have tokens.")
            return own
        if not self.may(OF_OTHERS):
            return None
        account = AccountDB.objects.filter(username__iexact=name).first()
        if account is None:
            self.show_usage(f"There is no account named {name}.")
        return account
