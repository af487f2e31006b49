"""The process that holds the model: serves it on loopback, says where, ends with its supervisor.

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
"""Exit code (EX_CONFIG) that says starting again will not help."""
KEY_VARIABLE = "EVENNIA_AI_LOCAL_API_KEY"
"""Environment variable with the key that requests have to hold: other users cannot read it."""

BATCH_TOKENS = 64
# The model's own code replaces our signal handlers some time after it has started.
_REARM_SECONDS = 0.5
_REARM_TIMES = 10


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Serve the model until the supervisor goes away or says so."""
    options = _parser().parse_args(arguments)
    announcement = _claim_stdout()
    server = _serve(options)
    line = json.dumps({"address": server.listening_address})
    os.write(announcement, f"{line}\n".encode())
    os.close(announcement)
    _wait_for_the_end()
    # The model's threads do not end by themselves; there is nothing to save.
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
    # A core stays free, for reading too: threads wait for each other at each layer, so on two cores
    # that others use as well 15 tokens are read in 7.6 s by two threads, and in 1.3 s by one.
    parser.add_argument("--threads", type=int, default=max(1, min(cores - 1, 4)))
    return parser


def _usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _claim_stdout() -> int:
    """Keep standard output for the one line to the supervisor; what libraries print is logged."""
    announcement = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return announcement


def _serve(options: argparse.Namespace) -> Any:
    """Load the model and listen; gives xllamacpp's server, alive as long as it is referred to."""
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
    # One slot and a store of prefixes: two assistants in turn both stay warm (1.1 s an answer, 6 s
    # without the store), as two slots of 4096 would keep them, but for any number of assistants.
    params.n_parallel = options.slots
    params.cache_ram_mib = options.prefix_cache_mib
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = options.threads
    # Only between two batches is a call dropped that nobody waits for, and whoever asks let in.
    params.n_batch = params.n_ubatch = BATCH_TOKENS
    # Waiting threads sleep; spinning would take time from the game.
    params.cpuparams.poll = params.cpuparams_batch.poll = 0
    params.use_jinja = True
    params.webui = False
    params.endpoint_slots = False
    # Taken out, so that nothing that is started from here inherits it.
    if key := os.environ.pop(KEY_VARIABLE, ""):
        params.api_keys = [key]
    params.verbosity = 1
    try:
        return runtime.Server(params)
    except RuntimeError as error:
        # The port may be taken, for which another start helps; a bad file stays bad.
        if options.port:
            raise
        _give_up(f"the model in {options.model} cannot be loaded: {error}")


def _give_up(reason: str) -> NoReturn:
    sys.stderr.write(f"{reason}\n")
    sys.exit(HOPELESS_EXIT)


def _wait_for_the_end() -> None:
    """Return when standard input closes or a signal asks for it.

    A signal may reach any of the model's threads, so a wake-up pipe is watched instead of waiting
    for a handler to run.
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
    """A handler, so that the signal reaches the wake-up pipe and does nothing else."""


if __name__ == "__main__":
    main()
