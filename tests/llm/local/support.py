"""Stand-ins: a model of a few bytes, wheels that carry it, a hub that serves it."""

import base64
import hashlib
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from evennia_ai.llm.local import control
from evennia_ai.llm.local.pinned import PinnedModel, Wheel
from evennia_ai.llm.local.sources import SourceConfig
from evennia_ai.llm.local.state import LocalModel, Snapshot, read_snapshot, supervisor_pid

WEIGHTS = b"GGUF" + bytes(range(256)) * 40
SLICES = (WEIGHTS[:4000], WEIGHTS[4000:7000], WEIGHTS[7000:])
OFFLINE = SourceConfig(hub_timeout_seconds=0.5)
HOST = Path(__file__).with_name("stand_in_host.py")
NOBODY = "http://127.0.0.1:1/model.gguf"
TINY = PinnedModel(
    name="tiny",
    file_name="tiny-q4.gguf",
    size_bytes=len(WEIGHTS),
    sha256=hashlib.sha256(WEIGHTS).hexdigest(),
    hub_url=NOBODY,
    wheels=(),
    wheels_need_bytes=50_000,
)


def names_in(folder: Path) -> list[str]:
    """The sorted names of the files in the folder."""
    return sorted(path.name for path in folder.iterdir())


def eventually(check: Callable[[], bool], seconds: float = 20.0) -> bool:
    """True once the check holds; False if it does not in time."""
    pause, deadline = threading.Event(), time.monotonic() + seconds
    while not check():
        if time.monotonic() > deadline:
            return False
        pause.wait(0.02)
    return True


def make_wheel(folder: Path, project: str, member: str, content: bytes) -> Wheel:
    """Build a package file that carries the content as data."""
    name = project.replace("-", "_")
    dist = f"{name}-1.0.dist-info"
    files = {
        f"{name}/__init__.py": b"raise RuntimeError('this package was imported')\n",
        f"{name}/{member}": content,
        f"{dist}/METADATA": f"Metadata-Version: 2.1\nName: {project}\nVersion: 1.0\n".encode(),
        f"{dist}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{path},{_record(text)}\n" for path, text in files.items())
    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in {**files, f"{dist}/RECORD": record.encode()}.items():
            archive.writestr(path, text)
    sha256 = hashlib.sha256(wheel.read_bytes()).hexdigest()
    return Wheel(f"{project}==1.0", sha256, f"{name}/{member}")


def _record(content: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"sha256={digest},{len(content)}"


def on_registry(folder: Path, slices: tuple[bytes, ...] = SLICES) -> PinnedModel:
    """The tiny model, with its slices as wheels in a folder."""
    wheels = tuple(
        make_wheel(folder, f"tiny-slice-part{number}", f"data/part{number:02}.bin", piece)
        for number, piece in enumerate(slices, start=1)
    )
    return replace(TINY, wheels=wheels)


def from_folder(folder: Path) -> SourceConfig:
    """Sources with a folder as their registry."""
    return replace(OFFLINE, pip_arguments=("--no-index", "--find-links", str(folder)))


@dataclass
class Reports:
    """A progress report that records its calls."""

    seen: list[tuple[str, int, int]] = field(default_factory=list)

    def __call__(self, stage: str, done_bytes: int, total_bytes: int) -> None:
        self.seen.append((stage, done_bytes, total_bytes))

    @property
    def stages(self) -> list[str]:
        """The stages reported, in order, each once."""
        return list(dict.fromkeys(stage for stage, _, _ in self.seen))


@dataclass
class Brain:
    """A state folder in which supervisors of the stand-in host are started.

    Attributes:
        state_dir: the folder.
        options: options of the supervisor, which make it quick.
    """

    state_dir: Path
    options: tuple[str, ...] = ("--beat-seconds", "0.05", "--first-backoff-seconds", "0.01")

    def launch(self, *host: str, options: tuple[str, ...] = (), **more: Any) -> None:
        """Start a supervisor; `host` are options of the stand-in."""
        command = [sys.executable, str(HOST), *host]
        control.launch(self.state_dir, "tiny", command, options=self.options + options, **more)

    def wait(self) -> LocalModel:
        return control.wait_until_ready(self.state_dir, 20.0, Reports())

    @property
    def snapshot(self) -> Snapshot:
        """The state that the supervisor wrote last."""
        snapshot = read_snapshot(self.state_dir)
        assert snapshot is not None
        return snapshot

    @property
    def is_over(self) -> bool:
        """True if no supervisor is in charge."""
        return supervisor_pid(self.state_dir) == 0

    def close(self) -> None:
        control.stop(self.state_dir)


@dataclass
class Hub:
    """A model hub on loopback.

    Attributes:
        content: the bytes served.
        claims_bytes: the length announced.
        hold: the first byte is sent at once, the rest only when this is set.
        asked: set at the first request.
        requests: the number of requests.
    """

    content: bytes = WEIGHTS
    claims_bytes: int = len(WEIGHTS)
    status: int = 200
    hold: threading.Event = field(default_factory=threading.Event)
    asked: threading.Event = field(default_factory=threading.Event)
    requests: int = 0
    url: str = ""

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        """Serve one request."""
        self.requests += 1
        handler.send_response(self.status)
        handler.send_header("Content-Length", str(self.claims_bytes))
        handler.end_headers()
        handler.wfile.write(self.content[:1])
        handler.wfile.flush()
        self.asked.set()
        self.hold.wait(20.0)
        handler.wfile.write(self.content[1:])


@contextmanager
def serving(hub: Hub) -> Iterator[PinnedModel]:
    """Run the hub; yields the tiny model with the hub's address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            try:
                hub.answer(self)
            except ConnectionError:
                self.close_connection = True

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield replace(TINY, hub_url=f"http://127.0.0.1:{server.server_port}/model.gguf")
        finally:
            hub.hold.set()
            server.shutdown()
            thread.join()
