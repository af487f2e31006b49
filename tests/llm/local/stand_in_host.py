"""A stand-in for the model's host: a real process and HTTP server that can misbehave."""

import argparse
import json
import os
import signal
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NoReturn

from evennia_ai.llm.local.host import KEY_VARIABLE


def main() -> None:
    """Serve /health to everyone and POST to callers with the key, until standard input closes."""
    options = _options()
    key = os.environ.pop(KEY_VARIABLE, "")
    starts = _count(options.starts)
    if starts <= options.die_first:
        _die(options.exit_code)
    if options.mute:
        threading.Event().wait()
    if options.stubborn:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    server = ThreadingHTTPServer(("127.0.0.1", options.port), _Health)
    server.daemon_threads = True
    server.looks_left = options.healthy_looks  # type: ignore[attr-defined]
    server.key = key  # type: ignore[attr-defined]
    host, port = server.server_address[:2]
    sys.stdout.write(json.dumps({"address": f"http://{host!s}:{port}"}) + "\n")
    sys.stdout.flush()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()
    if options.stubborn:
        threading.Event().wait()


class _Health(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        """Report healthy as often as the options say, then 503."""
        self.server.looks_left -= 1  # type: ignore[attr-defined]
        is_well = self.server.looks_left >= 0  # type: ignore[attr-defined]
        self._reply(200 if is_well else 503)

    def do_POST(self) -> None:
        """Answer only callers with the key, as the real host does."""
        self.rfile.read(int(self.headers["Content-Length"]))
        key = self.server.key  # type: ignore[attr-defined]
        knows = not key or self.headers["Authorization"] == f"Bearer {key}"
        self._reply(200 if knows else 401, b"{}")

    def _reply(self, status: int, body: bytes = b"") -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--starts", type=Path, help="file that counts the starts")
    parser.add_argument("--die-first", type=int, default=-1, help="die at so many first starts")
    parser.add_argument("--exit-code", type=int, default=1)
    parser.add_argument("--mute", action="store_true", help="never say where it listens")
    parser.add_argument("--stubborn", action="store_true", help="end only when killed")
    parser.add_argument("--healthy-looks", type=int, default=1_000_000)
    return parser.parse_args()


def _count(starts: Path | None) -> int:
    if starts is None:
        return 0
    with starts.open("a") as file:
        file.write("x")
    return starts.stat().st_size


def _die(exit_code: int) -> NoReturn:
    sys.stderr.write("the cellar is flooded\n")
    sys.stderr.flush()
    os._exit(exit_code)


if __name__ == "__main__":
    main()
