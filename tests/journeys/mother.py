"""A process with imported libraries, from which a game's and its workers' processes are forked.

    python mother.py SOCKET PADDING ROOM...

Most of the processor time of a start goes into importing what is the same in every game: Twisted,
Django, pydantic's models. Here that is imported once. Nothing is imported that reads settings or
variables, starts a thread or chooses a reactor, so that a fork finds what an interpreter of its own
would find: its arguments, environment, folder, search path and output are those of the request, and
it imports Evennia, the game and most of the plugin itself. The padding makes room for a fork's
command line. The requester gets a fork's process id, and then its exit code. The mother ends with
the holder of its standard input.
"""

import ctypes
import gc
import importlib
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import sys
from contextlib import suppress
from importlib.machinery import SourceFileLoader
from importlib.metadata import distribution
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

LIBRARIES = (
    *("aiohttp", "autobahn.twisted.websocket", "cryptography.x509", "eventsourcing.application"),
    *("httpx2", "inflect", "jsonschema", "lunr", "prometheus_client", "psycopg", "pydantic"),
    *("pygments.lexers", "requests", "simpleeval", "tiktoken", "twisted.conch.telnet"),
    *("twisted.application.internet", "twisted.internet.epollreactor", "twisted.protocols.amp"),
    *("twisted.scripts.twistd", "twisted.web.static", "twisted.web.wsgi", "yaml"),
    *("django.contrib.admin", "django.contrib.auth.hashers", "django.contrib.flatpages.apps"),
    *("django.contrib.messages.middleware", "django.contrib.messages.storage.fallback"),
    *("django.contrib.sessions.backends.db", "django.contrib.sessions.middleware"),
    *("django.core.cache.backends.locmem", "django.core.management", "django.middleware.common"),
    *("django.db.backends.sqlite3.base", "django.db.migrations.executor"),
    *("django.template.loaders.cached", "django_filters", "django_htmx.middleware"),
    *("drf_spectacular.utils", "rest_framework.authentication"),
    *("rest_framework.mixins", "rest_framework.permissions", "sekizai.models"),
)
# The number of bytes that hold the length of a request.
HEAD = 8


def load(rooms: list[str]) -> None:
    """Import libraries, and these packages of the plugin completely."""
    for name in LIBRARIES:
        importlib.import_module(name)
    for room in rooms:
        package = importlib.import_module(room)
        for module in pkgutil.walk_packages(getattr(package, "__path__", ()), f"{room}."):
            importlib.import_module(module.name)
    load_verbs()
    # It builds its table of all Unicode characters once, here.
    importlib.import_module("evennia_ai.core.text.cleaning").one_line("\0")
    gc.collect()
    gc.freeze()
    assert "twisted.internet.reactor" not in sys.modules


def load_verbs() -> None:
    """Import Evennia's table of verbs, which needs nothing, without its package, which does."""
    name = "evennia.utils.verb_conjugation.conjugate"
    path = Path(str(distribution("evennia").locate_file(f"{name.replace('.', '/')}.py")))
    loader = SourceFileLoader(name, str(path))
    spec = spec_from_loader(name, loader)
    assert spec is not None
    sys.modules[name] = module_from_spec(spec)
    loader.exec_module(sys.modules[name])


def serve(listener: socket.socket) -> dict[str, Any]:
    """Fork for each request; returns the request in the fork."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nothing here waits for children
    while True:
        readable, _, _ = select.select([listener, sys.stdin], [], [])
        if sys.stdin in readable:
            sys.exit()
        asker, _ = listener.accept()
        if os.fork():
            asker.close()
            continue
        listener.close()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        request, outputs = receive(asker)
        if child := os.fork():
            asker.sendall(b"%d\n" % child)
            await_end(child, asker)
            os._exit(0)
        os.setsid()
        asker.close()
        for number, output in enumerate(outputs):
            os.dup2(output, number)
            os.close(output)
        return request


def await_end(child: int, asker: socket.socket) -> None:
    """Report a program's exit code; kill the program once nobody waits for it."""
    ended = os.pidfd_open(child)
    select.select([ended, asker], [], [])
    if not select.select([ended], [], [], 0)[0]:
        os.kill(child, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    with suppress(OSError):
        asker.sendall(b"%d" % code)


def receive(asker: socket.socket) -> tuple[dict[str, Any], list[int]]:
    head, outputs, _, _ = socket.recv_fds(asker, HEAD, 3)
    body = asker.makefile("rb").read(int.from_bytes(head))
    return json.loads(body), outputs


def become(request: dict[str, Any], search_path: list[str]) -> None:
    """Adopt the request, as an interpreter that is started with it would."""
    sys.argv = list(request["command"])
    sys.orig_argv = [sys.executable, *sys.argv]
    show("\0".join(sys.orig_argv).encode())
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    own = [part for part in os.environ.get("PYTHONPATH", "").split(os.pathsep) if part]
    sys.path[:] = [str(Path(sys.argv[0]).parent), *own, *search_path]
    importlib.invalidate_caches()
    sys.modules["sitecustomize"].begin()


def show(command: bytes) -> None:
    """Make /proc show this command line, by which a game's processes are found."""
    stat = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    first, last = int(stat[45]), int(stat[46])
    assert len(command) < last - first, f"no room for {command!r}"
    ctypes.memmove(first, command.ljust(last - first, b"\0"), last - first)


def main() -> None:
    path, rooms, search_path = sys.argv[1], sys.argv[3:], sys.path[2:]
    load(rooms)
    with socket.socket(socket.AF_UNIX) as listener:
        # It gets its name only once it listens.
        listener.bind(f"{path}-")
        listener.listen(100)
        os.rename(f"{path}-", path)
        request = serve(listener)
    become(request, search_path)
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
