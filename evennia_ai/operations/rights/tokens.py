"""Access tokens of programs: made, listed and revoked by players and by the game's owners."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from evennia.accounts.accounts import DefaultGuest
from evennia.utils import logger
from typing_extensions import TypedDict

from evennia_ai.core.text.words import counted
from evennia_ai.core.typed_objects import Account
from evennia_ai.models import AccessToken, TokenScope, missing_tables
from evennia_ai.operations.result import Result, note, one_of
from evennia_ai.operations.rights import token_store
from evennia_ai.operations.times import day_of, iso
from evennia_ai.runtime.web_requests import api_config

NO_TOKENS = "This game keeps no tokens: token_days in EVENNIA_AI_API_CONFIG is 0."
SCOPES = [scope.value for scope in TokenScope]
SCOPE = (
    "`read` cannot change or reveal anything. `usual` is like `read` over MCP, but "
    "allows everything the account may do over REST. `write` allows that over both."
)
CAN = {
    TokenScope.READ: "It can only read.",
    TokenScope.USUAL: "Over MCP it can only read.",
    TokenScope.WRITE: "Anyone who has it can change everything you may change, over MCP too.",
}
NOT_MIGRATED = "This game has no table for tokens yet; its owner has to type: evennia migrate"


@dataclass(frozen=True, slots=True)
class Token:
    """A new token, to be sent as `Authorization: Token <token>`."""

    token: Annotated[str, note("The token; it is shown only once.")]
    number: int
    ends_at: Annotated[str, note("Time at which it expires (ISO 8601).")]


class KeptToken(TypedDict):
    """A token that is good, without the token itself."""

    number: int
    name: Annotated[str, note("Purpose of the token.")]
    begins: Annotated[str, note("First characters of the token.")]
    made_at: str
    ends_at: str
    scope: Annotated[str, one_of(SCOPES, SCOPE)]
    used_at: Annotated[str | None, note("Time of its last use, to the hour (ISO 8601).")]
    is_this: Annotated[bool, note("True for the token that was sent with this request.")]


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of an account, the newest first."""

    tokens: list[KeptToken]


@dataclass(frozen=True, slots=True)
class Revoked:
    """The number of tokens that were revoked."""

    count: int


def refusal_of(account: Account) -> Result | None:
    """Return a refusal where an account may not have tokens, else None."""
    if not api_config().token_days:
        return Result.not_found(NO_TOKENS)
    if missing_tables(AccessToken):
        return Result.unavailable(NOT_MIGRATED)
    # Evennia deletes a guest's account when it disconnects.
    if isinstance(account, DefaultGuest):
        return Result.forbidden("Guests have no tokens.")
    if account.attributes.get("assistant_body"):
        return Result.forbidden("Assistants have no tokens.")
    return None


def make_token(
    account: Account, name: str = "", *, address: str = "", scope: str = TokenScope.USUAL.value
) -> Result[Token]:
    """Make a token for an account.

    Args:
        name: what it is for, in the owner's words.
        address: network address of the request; "" in the game.
        scope: a word of SCOPES.
    """
    if scope not in SCOPES:
        return Result.invalid(f"A token has no {scope!r}; it has one of: {', '.join(SCOPES)}.")
    if refused := refusal_of(account):
        return refused
    chosen = TokenScope(scope)
    key, row = token_store.make(account, name.strip(), address, chosen)
    # Evennia's security log, by number: the token itself is never logged.
    logger.log_sec(f"Token {row.pk} of the API ({chosen}) was made for {account.key}.")
    ends = iso(row.ends_at)
    message = (
        f"Your token, which is shown only once: {key}\nIt is number {row.pk}, and valid until"
        f" {day_of(ends)} or until you change your password. {CAN[chosen]}"
    )
    return Result(True, message, Token(key, row.pk, ends))


def list_tokens(account: Account, *, current: int | None = None) -> Result[Tokens]:
    """List the valid tokens of an account, the newest first.

    Args:
        current: number of the token that this request was sent with.
    """
    if missing_tables(AccessToken):
        return Result.unavailable(NOT_MIGRATED)
    rows = [_row(row, current) for row in token_store.of_account(account).order_by("-pk")]
    lines = [_line(row) for row in rows]
    return Result(True, "\n".join(lines) or "No tokens.", Tokens(rows))


def revoke_token(account: Account, number: int, *, by: str) -> Result[Revoked]:
    """Revoke one token of an account."""
    # By account too: the number of another account's token counts as missing.
    tokens = AccessToken.objects.filter(account_id=account.pk, pk=number)
    if not token_store.end(list(tokens.values_list("pk", flat=True))):
        return Result.not_found(f"{account.key} has no token of number {number}.")
    logger.log_sec(f"Token {number} of the API, of {account.key}, was revoked by {by}.")
    return Result(True, f"Token {number} of {account.key} is no longer valid.", Revoked(1))


def revoke_tokens(account: Account, *, by: str) -> Result[Revoked]:
    """Revoke all tokens of an account."""
    tokens = AccessToken.objects.filter(account_id=account.pk)
    count = token_store.end(list(tokens.values_list("pk", flat=True)))
    if count:
        logger.log_sec(f"{by} revoked {counted(count, 'tokens')} of the API, all of {account.key}.")
    return Result(True, f"Revoked {counted(count, 'tokens')} of {account.key}.", Revoked(count))


def _row(row: AccessToken, current: int | None) -> KeptToken:
    return {
        "number": row.pk,
        "name": row.name,
        "begins": row.begins,
        "made_at": iso(row.made_at),
        "ends_at": iso(row.ends_at),
        "scope": row.scope,
        "used_at": iso(row.used_at) if row.used_at else None,
        "is_this": row.pk == current,
    }


def _line(row: KeptToken) -> str:
    used = f"used {day_of(row['used_at'])}" if row["used_at"] else "never used"
    name = f" {row['name']!r}" if row["name"] else ""
    days = f"made {day_of(row['made_at'])}, valid until {day_of(row['ends_at'])}"
    return f"{row['number']:>4}  {row['begins']}...{name}  ({row['scope']})  {days}, {used}"
