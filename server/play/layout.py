"""Where everything lies in a checkout, and the one error that ends a run with a sentence."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


class PlayError(Exception):
    """A run that cannot go on; its text is the sentence a person reads."""


@dataclass(frozen=True)
class Checkout:
    """The folders and files of one checkout of the game.

    Attributes:
        root: the folder with the Makefile in it.
        borrowed_venv: an environment somebody else made and keeps, used as it is
            (EVENNIA_AI_VENV), or None for the checkout's own `.venv`.
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
        """Where portal, server and installation write what they did."""
        return self.server / "logs"

    @property
    def credentials(self) -> Path:
        """The admin account that was made here; for its owner's eyes only."""
        return self.server / ".credentials"

    @property
    def secret_key(self) -> Path:
        """The key Django signs its cookies with."""
        return self.server / ".secret_key"

    @property
    def secret_settings(self) -> Path:
        """The owner's own settings, keys among them; may be absent."""
        return self.server / "conf" / "secret_settings.py"

    @property
    def choices(self) -> Path:
        """What the last start was told: ports, address and model."""
        return self.server / ".play.json"

    @property
    def lock(self) -> Path:
        """Held while one command changes what runs."""
        return self.server / ".play.lock"

    @property
    def local_model(self) -> Path:
        """Where the embedded model keeps its own state."""
        return self.server / ".local_model"

    def pidfile(self, part: str) -> Path:
        """Return where twistd notes the process of `portal` or `server`."""
        return self.server / f"{part}.pid"
