"""The admin account's name and password, and the key cookies are signed with.

Both are made once, kept in files only their owner can read, and never made anew while the file is
there.
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
        username: what to log in with.
        password: in clear, or "" where it is not ours to know.
        email: may be "".
        is_ours: whether it was generated here and kept in the credentials file.
    """

    username: str
    password: str
    email: str = ""
    is_ours: bool = False


def admin(checkout: Checkout, environ: Mapping[str, str] = os.environ) -> Admin:
    """Return the admin account to create: from the environment, from the file, or a new one.

    A new one is written to the file before anybody uses it, so that a run which is broken off does
    not leave an account whose password nobody has seen.

    Raises:
        PlayError: if only half of an account was named in the environment.
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
    """Return the account a credentials file holds, or None if there is none to read."""
    try:
        username, _, password = path.read_text(encoding="utf-8").strip().partition(" / ")
    except OSError:
        return None
    return Admin(username, password, is_ours=True) if password else None


def make_password() -> str:
    """Return a new password that can be read out over a telephone: `kestrel-harbour-fern-94`.

    About 30 bits: enough where logins are throttled, and the game listens on loopback.
    """
    known = WORDS.read_text(encoding="utf-8").split()
    words = [secrets.choice(known) for _ in range(WORDS_IN_PASSWORD)]
    return "-".join([*words, str(10 + secrets.randbelow(90))])


def ensure_secret_key(path: Path) -> None:
    """Make the cookie key unless it is there already."""
    if not path.exists():
        _write_private(path, secrets.token_urlsafe(SECRET_KEY_BYTES) + "\n")


def _write_private(path: Path, text: str, *, replace: bool = False) -> None:
    # Written beside its place and moved there whole: a run killed half-way leaves no empty file.
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
