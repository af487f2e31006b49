"""Forks processes from one that has already loaded everything, each with its own pipes.

    python -m tests.nursery MODULE SOCKET

calls `MODULE.load()`, which imports what all processes need, and then forks for each request: the
child gets the request's environment and runs `MODULE.main(*arguments)`. Importing Django and the
package takes three seconds of CPU time, a fork a hundredth of a second.

`load` must not touch a database: no connection, and no value that was read from one.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PATIENCE_SECONDS = 120.0
LONGEST_REQUEST = 1 << 16


class Child:
    """One process; its standard input and output are text pipes.

    Attributes:
        stdin, stdout: our ends of them.
    """

    def __init__(self, nursery: Nursery, pid: int, stdin: int, stdout: int) -> None:
        self._nursery, self._pid = nursery, pid
        self.stdin, self.stdout = os.fdopen(stdin, "w"), os.fdopen(stdout)
        self._is_over = False

    def kill(self) -> None:
        """Kill it in the middle of its work."""
        if not self._is_over:  # its pid cannot be reused before it is waited for
            os.kill(self._pid, signal.SIGKILL)

    def end(self) -> None:
        """Wait for its end."""
        if not self._is_over:
            self._nursery.ask({"wait": self._pid})
            self._is_over = True
        self.stdin.close()
        self.stdout.close()


class Nursery:
    """The process that has loaded everything, as tests use it."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line

    def begin(self, environment: Mapping[str, str], *arguments: str) -> Child:
        """Start one more process."""
        (its_in, our_out), (our_in, its_out) = os.pipe(), os.pipe()
        request = {"environment": dict(environment), "arguments": arguments}
        pid = self.ask(request, its_in, its_out)
        os.close(its_in)
        os.close(its_out)
        return Child(self, pid, our_out, our_in)

    def ask(self, told: Mapping[str, Any], *files: int) -> int:
        """Send a request; return the number in its answer."""
        socket.send_fds(self._line, [json.dumps(told).encode()], files)
        return int(self._line.recv(LONGEST_REQUEST))


@contextmanager
def opened(module: str) -> Iterator[Nursery]:
    """Run a nursery for a module within the block."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    command = [sys.executable, "-m", "tests.nursery", module, f"{theirs.fileno()}"]
    with ours, subprocess.Popen(command, cwd=ROOT, pass_fds=[theirs.fileno()]) as process:
        theirs.close()
        ours.settimeout(PATIENCE_SECONDS)
        try:
            yield Nursery(ours)
        finally:
            ours.close()
            process.wait(PATIENCE_SECONDS)


def main(name: str, number: str) -> None:
    """Fork for each request, until the socket is closed."""
    module = import_module(name)
    module.load()
    line = socket.socket(fileno=int(number))
    while True:
        raw, files, _, _ = socket.recv_fds(line, LONGEST_REQUEST, 2)
        if not raw:
            return
        request = json.loads(raw)
        if "wait" in request:
            answer = os.waitstatus_to_exitcode(os.waitpid(request["wait"], 0)[1])
        elif not (answer := os.fork()):
            line.close()
            _live(module, request, *files)
        for file in files:
            os.close(file)
        line.send(f"{answer}".encode())


def _live(module: Any, told: Mapping[str, Any], stdin: int, stdout: int) -> None:
    """Run the child's whole life."""
    code = 1
    try:
        os.dup2(stdin, 0)
        os.dup2(stdout, 1)
        os.close(stdin)
        os.close(stdout)
        sys.stdin, sys.stdout = os.fdopen(0), os.fdopen(1, "w")
        os.environ |= told["environment"]
        module.main(*told["arguments"])
        sys.stdout.flush()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


if __name__ == "__main__":
    main(*sys.argv[1:])
