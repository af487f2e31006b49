"""The process that runs the model: it serves it on loopback and announces the address.

The only module that imports `xllamacpp`. Its standard input is a pipe from the supervisor on which
nothing is ever sent: when it closes, the supervisor is gone, and this process ends too.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import select
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

HOPELESS_EXIT = 78
"""Exit code (EX_CONFIG) for an error that a restart will not mend."""
KEY_VARIABLE = "EVENNIA_AI_LOCAL_API_KEY"
"""Environment variable with the API key of requests; other users cannot read it."""

BATCH_TOKENS = 64
# llama.cpp installs signal handlers of its own some time after its server has started, so ours are
# set again for the first five seconds.
_REARM_SECONDS = 0.5
_REARM_TIMES = 10


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Serve the model until the supervisor ends or sends a signal."""
    options = _parser().parse_args(arguments)
    announcement = _claim_stdout()
    server = _serve(options)
    line = json.dumps({"address": server.listening_address})
    os.write(announcement, f"{line}\n".encode())
    os.close(announcement)
    _wait_for_the_end()
    # llama.cpp's threads would keep a normal exit waiting, and there is nothing to save.
    os._exit(0)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="evennia_ai.llm.local.host", description=__doc__)
    parser.add_argument("--model", type=Path, required=True, help="a GGUF file")
    parser.add_argument("--name", required=True, help="what the model is called in the API")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--context-tokens", type=int, default=4096)
    parser.add_argument("--slots", type=int, default=1)
    parser.add_argument("--prefix-cache-mib", type=int, default=256)
    cores = _usable_cores()
    # One core stays free for the game. Threads synchronize at each layer, so sharing a core stalls
    # all of them: on two busy cores, two threads read 15 tokens in 7.6 s, and one in 1.3 s.
    parser.add_argument("--threads", type=int, default=max(1, min(cores - 1, 4)))
    return parser


def _usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _claim_stdout() -> int:
    """Reserve standard output for the announcement; what libraries print goes to the log."""
    announcement = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return announcement


def _serve(options: argparse.Namespace) -> Any:
    """Load the model and start xllamacpp's server, which runs as long as it is referenced."""
    try:
        runtime = importlib.import_module("xllamacpp")
    except ImportError as error:
        _give_up(f"xllamacpp cannot be imported: {error}")
    params = runtime.CommonParams()
    params.model.path = str(options.model)
    params.model_alias = options.name
    params.hostname = "127.0.0.1"
    params.port = options.port
    params.n_ctx = options.context_tokens
    # One slot and a cache of prompt prefixes keep any number of assistants warm: two in turn take
    # 1.1 s an answer, and 6 s without the cache. Slots would keep only as many as there are slots.
    params.n_parallel = options.slots
    params.cache_ram_mib = options.prefix_cache_mib
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = options.threads
    # llama.cpp notices a dropped call, and admits a new one, only between two batches.
    params.n_batch = params.n_ubatch = BATCH_TOKENS
    # Idle threads sleep instead of spinning, which would take CPU time from the game.
    params.cpuparams.poll = params.cpuparams_batch.poll = 0
    params.use_jinja = True
    params.webui = False
    params.endpoint_slots = False
    # Removed, so that no child process inherits it.
    if key := os.environ.pop(KEY_VARIABLE, ""):
        params.api_keys = [key]
    params.verbosity = 1
    try:
        return runtime.Server(params)
    except RuntimeError as error:
        # A fixed port may be taken, and a restart with another port helps. A bad file stays bad.
        if options.port:
            raise
        _give_up(f"the model in {options.model} cannot be loaded: {error}")


def _give_up(reason: str) -> NoReturn:
    sys.stderr.write(f"{reason}\n")
    sys.exit(HOPELESS_EXIT)


def _wait_for_the_end() -> None:
    """Return when standard input closes or a signal arrives.

    A signal may reach any of the model's threads, while Python runs handlers only in the main
    thread; the wake-up pipe is written in either case.
    """
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    rounds = 0
    while True:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, _do_nothing)
        patience = _REARM_SECONDS if rounds < _REARM_TIMES else None
        ready, _, _ = select.select([sys.stdin.fileno(), woken], [], [], patience)
        if ready:
            return
        rounds += 1


def _do_nothing(*_: object) -> None:
    """Do nothing: any Python handler makes the signal write to the wake-up pipe."""


if __name__ == "__main__":
    main()
