"""Paths in a checkout, and the error that ends a run with a sentence."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


class PlayError(Exception):
    """A run cannot go on; the text is shown to the user."""


@dataclass(frozen=True)
class Checkout:
    """The folders and files of one checkout of the game.

    Attributes:
        root: the folder with the Makefile.
        borrowed_venv: an existing environment that is used unchanged (EVENNIA_AI_VENV), or None for
            the checkout's own `.venv`.
    """

    root: Path
    borrowed_venv: Path | None = None

    @classmethod
    def here(cls, environ: Mapping[str, str] = os.environ) -> Checkout:
        """Return the checkout this file belongs to."""
        borrowed = environ.get("EVENNIA_AI_VENV", "")
        root = Path(__file__).resolve().parents[2]
        return cls(root, Path(borrowed).absolute() if borrowed else None)

    @property
    def server(self) -> Path:
        """The folder Evennia calls the server directory."""
        return self.root / "server"

    @property
    def venv(self) -> Path:
        """The environment the game runs in."""
        return self.borrowed_venv or self.root / ".venv"

    @property
    def python(self) -> Path:
        """The interpreter the game runs on."""
        return self.venv / "bin" / "python"

    @property
    def logs(self) -> Path:
        """The folder of the logs of portal, server and installation."""
        return self.server / "logs"

    @property
    def credentials(self) -> Path:
        """The file with the admin account that was made here."""
        return self.server / ".credentials"

    @property
    def secret_key(self) -> Path:
        """The file with the key that Django signs cookies with."""
        return self.server / ".secret_key"

    @property
    def secret_settings(self) -> Path:
        """The owner's own settings, including keys; may be absent."""
        return self.server / "conf" / "secret_settings.py"

    @property
    def choices(self) -> Path:
        """The file with the ports, address and model of the last start."""
        return self.server / ".play.json"

    @property
    def lock(self) -> Path:
        """The lock file, held while a command starts or stops processes."""
        return self.server / ".play.lock"

    @property
    def local_model(self) -> Path:
        """The folder with the embedded model's own state."""
        return self.server / ".local_model"

    def pidfile(self, part: str) -> Path:
        """Return twistd's pid file of `portal` or `server`."""
        return self.server / f"{part}.pid"
