"""The admin account's name and password, and the key that signs cookies.

Both are made once, stored in files that only their owner can read, and never replaced while the
file exists.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from server.play.layout import Checkout, PlayError

SECRET_KEY_BYTES = 48
WORDS_IN_PASSWORD = 3
WORDS = Path(__file__).with_name("words.txt")


@dataclass(frozen=True)
class Admin:
    """The account that owns the game.

    Attributes:
        username: the login name.
        password: in clear text, or "" if it is unknown here.
        email: may be "".
        is_ours: whether it was generated here and stored in the credentials file.
    """

    username: str
    password: str
    email: str = ""
    is_ours: bool = False


def admin(checkout: Checkout, environ: Mapping[str, str] = os.environ) -> Admin:
    """Return the admin account to create: from the environment, from the file, or a new one.

    A new one is written to the file before it is used, so that an interrupted run does not leave an
    account with an unknown password.

    Raises:
        PlayError: if the file cannot be written.
    """
    username = environ.get("EVENNIA_SUPERUSER_USERNAME", "")
    password = environ.get("EVENNIA_SUPERUSER_PASSWORD", "")
    email = environ.get("EVENNIA_SUPERUSER_EMAIL", "")
    if password:
        return Admin(username or "admin", password, email)
    kept = read(checkout.credentials)
    if kept and username in ("", kept.username):
        return kept
    fresh = Admin(username or "admin", make_password(), email, is_ours=True)
    _write_private(checkout.credentials, f"{fresh.username} / {fresh.password}\n", replace=True)
    return fresh


def read(path: Path) -> Admin | None:
    """Return the account in a credentials file, or None if there is none."""
    try:
        username, _, password = path.read_text(encoding="utf-8").strip().partition(" / ")
    except OSError:
        return None
    return Admin(username, password, is_ours=True) if password else None


def make_password() -> str:
    """Return a new password that is easy to read and type: `kestrel-harbour-fern-94`.

    About 30 bits, which is enough because logins are throttled and the game listens on loopback.
    """
    known = WORDS.read_text(encoding="utf-8").split()
    words = [secrets.choice(known) for _ in range(WORDS_IN_PASSWORD)]
    return "-".join([*words, str(10 + secrets.randbelow(90))])


def ensure_secret_key(path: Path) -> None:
    """Make the cookie key unless it exists."""
    if not path.exists():
        _write_private(path, secrets.token_urlsafe(SECRET_KEY_BYTES) + "\n")


def _write_private(path: Path, text: str, *, replace: bool = False) -> None:
    # Written to a draft and renamed, so that a killed run leaves no half-written file.
    draft = path.with_name(f"{path.name}.draft")
    try:
        draft.unlink(missing_ok=True)
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        if replace or not path.exists():
            draft.replace(path)
    except OSError as error:
        raise PlayError(f"Cannot write {path}: {error.strerror}.") from None
