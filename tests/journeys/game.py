"""Real Evennia games in temporary folders: made, started, reloaded, killed and cleaned up.

A bare game is started by Evennia's own launcher, as an owner would do it; ours runs the launcher's
commands and sends its orders without it. `GameFolder` functions make the folder: a bare
`evennia --init` game, or this repository's own game.
"""

import atexit
import os
import shutil
import signal
import sqlite3
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import distribution
from pathlib import Path
from typing import Any, Self, TypeVar

from tests.journeys import forks, processes
from tests.journeys.clients import WAIT_SECONDS, Player, TelnetClient, WebsocketClient
from tests.journeys.guardian import Guardian
from tests.journeys.orders import (
    PORTAL_SHUTDOWN,
    SERVER_RELOAD,
    SERVER_SHUTDOWN,
    SERVER_START,
    OrderLine,
)
from tests.journeys.ports import ClaimedPorts

ROOT = Path(__file__).resolve().parents[2]
LAUNCHER = Path(sys.executable).with_name("evennia")
EVENNIA = Path(str(distribution("evennia").locate_file("evennia")))
ADMIN_NAME, ADMIN_PASSWORD = "admin", "kestrel-harbour-94"
# Only a game's environment holds this key.
API_KEY = "sk-journey-2b7e151628aed2a6abf7158809cf4f3c"
START_SECONDS = 90.0
GAVE_UP = "Connection to Evennia timed out. Try again."
# No rate limits and no batching: every line is answered at once and on its own.
UNHURRIED = {
    "EVENNIA_AI_HEARING_CONFIG": {
        "calls_per_player": 1000,
        "batch_messages": 1,
        "batch_seconds": 0,
        "cooldown_seconds": 0,
        "engagement_seconds": 0,
    },
    "EVENNIA_AI_BUDGET_CONFIG": {
        "game": {"calls_per_minute": 0, "tokens_per_day": 0},
        "assistant": {"calls_per_minute": 0, "tokens_per_day": 0},
        "player": {"tokens_per_day": 0},
    },
    "EVENNIA_AI_ANSWERS_PER_LINE": 0,
}
COPIED = ("server", "world")
LEFT_OUT = shutil.ignore_patterns(
    "__pycache__", "*.db3*", "*.log*", "*.pid", ".static", "secret_settings.py", ".*"
)
UNTELLING_LOGS = ("lockwarnings.log", "http_requests.log")
FOREIGN_VARIABLES = (
    "OPENAI_",
    "EVENNIA_",
    "DJANGO_",
    "PYTEST_",
    "COV_",
    "PYTHONPATH",
    "PYTHONHOME",
)


Client = TypeVar("Client", bound=Player)
GameFolder = Callable[["Game"], None]


@dataclass(frozen=True)
class Ports:
    telnet: int
    web: int
    web_internal: int
    websocket: int
    amp: int


class Game:
    """One game folder and the processes that belong to it.

    Attributes:
        folder: the game folder, with `server/` and `world/` in it.
        ports: the ports that it listens on.
        env: the environment of its processes; change it before `start`.
        settings: settings that `write_settings` writes into its secret_settings.py.
    """

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.folder = self.root / "game"
        self._claimed = ClaimedPorts(5)
        self.ports = Ports(*self._claimed.numbers)
        self.env = make_environment(self.root / "lib")
        self.settings: dict[str, Any] = {}
        self._guardian = Guardian.watch(self.root)
        self._is_clean = False
        atexit.register(self.clean_up)

    @classmethod
    def make(cls, root: Path, make_folder: GameFolder) -> Self:
        """Make a new game with a folder made by `make_folder`; nothing of it runs yet."""
        root.mkdir(parents=True)
        game = cls(root)
        forks.fill(game.root / "lib")
        make_folder(game)
        return game

    @classmethod
    def copy(cls, template: Path, root: Path) -> Self:
        """Copy the root of a stopped game, on ports of its own."""
        root.mkdir(parents=True)
        game = cls(root)
        shutil.copytree(template / "lib", game.root / "lib", symlinks=True)
        shutil.copytree(template / "game", game.folder, ignore=shutil.ignore_patterns("*.log*"))
        return game

    # ---- driving it --------------------------------------------------------------------------

    def launch(self, *arguments: str, timeout_seconds: float = START_SECONDS) -> str:
        """Run the `evennia` launcher in the game folder and return its output."""
        command = forks.command_of([str(LAUNCHER), *arguments], self.root / "lib")
        return self._run(command, timeout_seconds)

    def run_python(self, *arguments: str, timeout_seconds: float = START_SECONDS) -> str:
        return self._run([sys.executable, *arguments], timeout_seconds)

    def run_shell(self, script: str, timeout_seconds: float = START_SECONDS) -> str:
        """Run lines of shell in the game folder, up to the first that fails."""
        return self._run(["bash", "-euc", script], timeout_seconds)

    def _run(
        self,
        command: Sequence[str | Path],
        timeout_seconds: float,
        env: Mapping[str, str] | None = None,
    ) -> str:
        return processes.run(
            command,
            cwd=self.folder,
            env=env or self.env,
            log=self.root / "launcher.log",
            timeout_seconds=timeout_seconds,
        )

    def ask_model_at(self, base_url: str, model: str) -> None:
        """Have the game's assistants ask this endpoint, with `API_KEY`."""
        self.env |= {
            "OPENAI_BASE_URL": base_url,
            "OPENAI_API_KEY": API_KEY,
            "EVENNIA_AI_MODEL": model,
        }

    def build_bare(self) -> None:
        """Migrate, make the superuser, let Evennia do its first start, and stop again."""
        self.write_settings()
        self.launch("migrate")
        self._start_by_launcher()
        # Evennia restarts its server once after the first start's work is done.
        with processes.follow(self.folder / "server/logs/server.log") as log:
            log.wait_for(r"successfully restarted in 'reset' mode", START_SECONDS)
        self.stop()

    def build_product(self) -> None:
        """Make database, superuser and world by the same program that `make play` calls."""
        self.write_settings()
        self.run_python("-m", "server.play.database", str(self.folder))
        self.launch("collectstatic", "--noinput")

    def start(self, *, by_launcher: bool = False) -> None:
        """Start the game and wait until a player could log in by telnet and by webclient.

        Args:
            by_launcher: start it as its owner does, which also collects the files of its web pages.

        Raises:
            AssertionError: it did not get so far; the message holds the ends of its logs.
        """
        self.write_settings()
        begin = self._start_by_launcher if by_launcher else self._start_by_order
        try:
            begin()
            self.wait_until_ready()
        except (OSError, AssertionError) as error:
            raise AssertionError(
                f"the game did not start: {error}\n{self.describe_logs()}"
            ) from error

    def _start_by_launcher(self) -> None:
        # Evennia's launcher exits with 0 whatever happened, and gives up on a portal that takes
        # more than ten seconds: then the server is still to be started.
        while GAVE_UP in self.launch("start"):
            pass

    def _start_by_order(self) -> None:
        if not (self.folder / "server/portal.pid").exists():
            env = {**self.env, "DJANGO_SETTINGS_MODULE": "server.conf.settings"}
            env["PYTHONPATH"] = os.pathsep.join([str(self.folder), str(self.root / "lib")])
            self._run(self._twistd("portal", "portal/portal.py"), START_SECONDS, env)
        with self._open_orders() as line:
            line.give(SERVER_START, self._twistd("server", "server.py"))
            line.wait_for_status()

    def _twistd(self, name: str, path: str) -> list[str]:
        """The command that runs a game's portal or server, as Evennia's launcher does."""
        program = [
            str(LAUNCHER.with_name("twistd")),
            f"--python={EVENNIA / 'server' / path}",
            f"--logger=evennia.utils.logger.Get{name.title()}LogObserver",
            f"--pidfile={self.folder / 'server' / name}.pid",
        ]
        return forks.command_of(program, self.root / "lib")

    def wait_until_ready(self) -> None:
        """Wait for the login screen by telnet, and for the webclient's page and websocket."""
        self.open_telnet(START_SECONDS).close()
        self.open_webclient(START_SECONDS).close()

    def reload(self) -> None:
        """Restart the server while the portal keeps the players connected: `evennia reload`."""
        with self._open_orders() as line:
            line.give(SERVER_RELOAD)
            line.wait_for_status()
            line.give(SERVER_START, self._twistd("server", "server.py"))
            line.wait_for_status()

    def kill_server(self) -> None:
        """Kill the server process, as a power cut would; the portal goes on."""
        pid = self.read_pid("server")
        os.kill(pid, signal.SIGKILL)
        processes.wait_for_reaping(pid, 10)

    def crash(self) -> None:
        """Kill the server process, and start it again."""
        self.kill_server()
        self.start()

    def stop(self) -> None:
        """Stop server and portal, and wait until both processes are gone: `evennia stop`."""
        server, portal = (self.read_pid(name) for name in ("server", "portal"))
        with self._open_orders() as line:
            line.give(SERVER_SHUTDOWN)
            processes.wait_for_end(server, 30)
            line.give(PORTAL_SHUTDOWN)
            processes.wait_for_end(portal, 30)

    def restart(self) -> None:
        self.stop()
        self.start()

    def _open_orders(self) -> OrderLine:
        return OrderLine(self.ports.amp, START_SECONDS)

    def read_pid(self, name: str) -> int:
        return int((self.folder / "server" / f"{name}.pid").read_text())

    def write_settings(self) -> None:
        """Write ports and `settings` to the end of secret_settings.py, replacing earlier ones."""
        path = self.folder / "server/conf/secret_settings.py"
        mark = "# ---- set by the tests\n"
        text = path.read_text().split(mark)[0] if path.exists() else ""
        chosen = {**make_settings(self.ports), **self.settings}
        lines = "".join(f"{name} = {value!r}\n" for name, value in chosen.items())
        path.write_text(text + mark + lines)

    # ---- looking at it -----------------------------------------------------------------------

    def open_telnet(self, timeout_seconds: float = WAIT_SECONDS) -> TelnetClient:
        return _await_login(TelnetClient(self.ports.telnet, timeout_seconds), timeout_seconds)

    def open_webclient(self, timeout_seconds: float = WAIT_SECONDS) -> WebsocketClient:
        client = WebsocketClient(self.ports.websocket, self.ports.web, timeout_seconds)
        return _await_login(client, timeout_seconds)

    def log_in_admin(self) -> TelnetClient:
        admin = self.open_telnet()
        admin.log_in(ADMIN_NAME, ADMIN_PASSWORD)
        return admin

    @property
    def logs(self) -> list[Path]:
        """The launcher's and the game's own log files."""
        return [self.root / "launcher.log", *sorted((self.folder / "server/logs").glob("*.log*"))]

    @property
    def database(self) -> Path:
        return self.folder / "server/evennia.db3"

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """Rows of a read-only query on the game's database."""
        with sqlite3.connect(f"file:{self.database}?mode=ro", uri=True) as connection:
            rows = connection.execute(sql).fetchall()
        connection.close()
        return rows

    def describe_logs(self, lines: int = 60) -> str:
        """The last lines of every log, for a failing test to show."""
        parts = []
        for path in [path for path in self.logs if path.name not in UNTELLING_LOGS]:
            tail = path.read_text("utf-8", "replace").splitlines()[-lines:] if path.exists() else []
            parts.append("\n".join([f"---- {path.name}", *tail]))
        return "\n".join(parts)

    # ---- the end -----------------------------------------------------------------------------

    def clean_up(self) -> None:
        """Kill every process of the game, whatever its state, and release its ports."""
        if not self._is_clean:
            self._is_clean = True
            self._guardian.dismiss()
            self._claimed.release()
            atexit.unregister(self.clean_up)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.clean_up()


def _await_login(player: Client, timeout_seconds: float) -> Client:
    try:
        # A line that is typed before the login screen is there may be lost.
        player.expect(r"\bconnect\b", timeout_seconds)
    except BaseException:
        player.close()
        raise
    return player


def make_bare_folder(game: Game) -> None:
    processes.run(
        [LAUNCHER, "--init", game.folder.name],
        cwd=game.root,
        env=game.env,
        log=game.root / "launcher.log",
        timeout_seconds=START_SECONDS,
    )


def make_product_folder(game: Game) -> None:
    """Make a folder with this repository's own game in it."""
    game.folder.mkdir()
    for name in COPIED:
        shutil.copytree(ROOT / name, game.folder / name, ignore=LEFT_OUT)
    (game.folder / "server/logs").mkdir(exist_ok=True)


def make_environment(library: Path) -> dict[str, str]:
    """The environment of a game: that of this process, without variables that affect a game."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(FOREIGN_VARIABLES)}
    # Evennia's launcher looks for `twistd` on the path.
    env["PATH"] = f"{LAUNCHER.parent}{os.pathsep}{env.get('PATH', os.defpath)}"
    # The launcher overwrites the second entry of `sys.path`, which is the first one of these.
    env["PYTHONPATH"] = os.pathsep.join([str(library / "overwritten"), str(library)])
    env["EVENNIA_SUPERUSER_USERNAME"] = ADMIN_NAME
    env["EVENNIA_SUPERUSER_PASSWORD"] = ADMIN_PASSWORD
    env["EVENNIA_SUPERUSER_EMAIL"] = "admin@example.com"
    env["NO_PROXY"] = env["no_proxy"] = "127.0.0.1,localhost"
    return env


def make_settings(ports: Ports) -> Mapping[str, Any]:
    """Settings that keep a game on its own ports and let a test make many accounts quickly."""
    loopback = ["127.0.0.1"]
    return {
        "TELNET_PORTS": [ports.telnet],
        "TELNET_INTERFACES": loopback,
        "WEBSERVER_PORTS": [(ports.web, ports.web_internal)],
        "WEBSERVER_INTERFACES": loopback,
        "WEBSOCKET_CLIENT_PORT": ports.websocket,
        "WEBSOCKET_CLIENT_INTERFACE": "127.0.0.1",
        "AMP_PORT": ports.amp,
        # After 2 s, Evennia 6.1's launcher on a busy machine takes a running game for stopped.
        "AMP_CONNECT_TIMEOUT": 60,
        "SECRET_KEY": "only-for-tests-" + "0123456789" * 4,
        # MD5, because PBKDF2 takes a quarter of a second per login; older games use PBKDF2.
        "PASSWORD_HASHERS": [
            f"django.contrib.auth.hashers.{name}PasswordHasher" for name in ("MD5", "PBKDF2")
        ],
        "MAX_CONNECTION_RATE": 100,
        "CREATION_THROTTLE_LIMIT": 10_000,
        "LOGIN_THROTTLE_LIMIT": 10_000,
    }
