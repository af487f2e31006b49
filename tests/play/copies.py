"""Copies of this checkout to run the launcher in, as if newly cloned."""

import os
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from server.play import processes
from tests.journeys.ports import ClaimedPorts

ROOT = Path(__file__).resolve().parents[2]
RUN_SECONDS = 240.0
LEFT_OUT = ("tests/", "docs/", "benchmarks/")
# Variables of the person who runs the tests must not change what the launcher does.
FOREIGN_PREFIXES = ("EVENNIA_", "OPENAI_", "MAKE", "MFLAGS", "PYTEST_", "COV_", "DJANGO_")
FOREIGN_NAMES = ("PYTHON", "BIND", "DATABASE_URL")
KEPT = "EVENNIA_AI_SUITE_RUN"


def is_foreign(name: str) -> bool:
    """True for a variable that the launcher would heed."""
    if name == KEPT:
        return False
    return name.startswith(FOREIGN_PREFIXES) or name.endswith("_PORT") or name in FOREIGN_NAMES


@dataclass(frozen=True)
class Answer:
    """The output and exit code of a command."""

    code: int
    out: str
    err: str


@dataclass
class Copy:
    """One copy of the checkout, with ports of its own and the test suite's environment."""

    root: Path
    extra: dict[str, str] = field(default_factory=dict)
    claimed: ClaimedPorts = field(default_factory=lambda: ClaimedPorts(5))

    @classmethod
    def make(cls, root: Path, **extra: str) -> Self:
        """Copy every file that git tracks or would add, and nothing else."""
        listed = subprocess.check_output(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT
        )
        for name in filter(None, listed.decode().split("\0")):
            if not name.startswith(LEFT_OUT) and (ROOT / name).is_file():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, root / name)
        return cls(root.resolve(), extra)

    @property
    def telnet_port(self) -> int:
        return self.claimed.numbers[0]

    @property
    def env(self) -> dict[str, str]:
        """The variables of its commands: the scripted model, the suite's environment, its ports."""
        own = {name: value for name, value in os.environ.items() if not is_foreign(name)}
        names = ("TELNET_PORT", "WEB_PORT", "WEBSOCKET_PORT", "WEB_INNER_PORT", "AMP_PORT")
        ports = dict(zip(names, map(str, self.claimed.numbers), strict=True))
        return {
            **own,
            **{f"EVENNIA_AI_{name}": port for name, port in ports.items()},
            "EVENNIA_AI_VENV": sys.prefix,
            "EVENNIA_AI_MODEL": "scripted",
            **self.extra,
        }

    def make_target(self, target: str, **extra: str) -> Answer:
        """Run `make` from another folder, with neither a terminal nor any input."""
        process = self.begin(target, **extra)
        out, err = process.communicate(timeout=RUN_SECONDS)
        return Answer(process.returncode, out, err)

    def begin(self, target: str, **extra: str) -> subprocess.Popen[str]:
        """Start `make` and return at once; its output can be read line by line."""
        return subprocess.Popen(
            [
                "make",
                "--no-print-directory",
                "-C",
                str(self.root),
                target,
                f"PYTHON={sys.executable}",
            ],
            cwd=self.root.parent,
            env={**self.env, **extra},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def path(self, name: str) -> Path:
        """A file of the copy, such as `server/.credentials`."""
        return self.root / name

    def running(self) -> list[int]:
        """The processes that belong to the copy."""
        return [pid for pid in processes.find(str(self.root)) if pid != os.getpid()]

    def kill(self) -> None:
        """Kill all processes of the copy, as a power cut would."""
        pids = self.running()
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        processes.wait_until(lambda: not self.running(), 10)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.kill()
        self.claimed.release()
