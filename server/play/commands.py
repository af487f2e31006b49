"""The launcher's commands: play, stop, restart, status, logs, worker."""

from __future__ import annotations

import fcntl
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from types import FrameType

from evennia_ai.llm.endpoints import Endpoint
from server.play import (
    brain,
    credentials,
    database_url,
    door,
    environment,
    game,
    logs,
    opening,
    ports,
    preflight,
    prepared,
    summary,
)
from server.play.game import World
from server.play.layout import Checkout, PlayError
from server.play.ports import Openings
from server.play.report import Report
from server.play.reservations import Reservations

EXIT_FAILED = 1
EXIT_MISUSED = 2
EXIT_INTERRUPTED = 130  # 128 and SIGINT, as shells report it
PASSWORD_SHOWN = "password_shown"
BRAIN_ANSWERED = "brain_answered"


def main(arguments: list[str]) -> int:
    """Run one command; return the exit code."""
    _detach_stdin()
    _handle_signals()
    verbs = {
        "play": play,
        "stop": stop,
        "restart": restart,
        "status": status,
        "logs": show_logs,
        "worker": work,
    }
    if len(arguments) != 1 or arguments[0] not in verbs:
        print(f"Say one of: {', '.join(verbs)}.", file=sys.stderr)
        return EXIT_MISUSED
    try:
        verbs[arguments[0]](Checkout.here(), Report())
    except PlayError as error:
        print(f"\n{error}", file=sys.stderr)
        return EXIT_FAILED
    except KeyboardInterrupt:
        print("\nInterrupted; what this run had started is stopped again.", file=sys.stderr)
        return EXIT_INTERRUPTED
    return 0


def play(checkout: Checkout, report: Report) -> None:
    """Start the game, or print its addresses if it is running already."""
    preflight.check_platform()
    preflight.check_writable(checkout)
    with _lock(checkout, "make play"):
        kept = ports.read_choices(checkout.choices)
        if game.running(checkout) and door.is_open(ports.choose({}, kept)):
            _refuse_to_move(kept)
            _refuse_other_database(checkout)
            report.say(summary.opened(checkout, kept, shows_password=False))
            return
        if _stop_everything(checkout):
            report.say("  A game that did not answer was stopped first.")
        _bring_up(checkout, report, kept)


def stop(checkout: Checkout, report: Report) -> None:
    """Stop the game and the embedded model, if they run."""
    preflight.check_writable(checkout)
    with _lock(checkout, "make stop"):
        report.say("The game is stopped." if _stop_everything(checkout) else "Nothing was running.")


def restart(checkout: Checkout, report: Report) -> None:
    """Stop everything and start it again; accounts and world stay as they are."""
    preflight.check_platform()
    preflight.check_writable(checkout)
    with _lock(checkout, "make restart"):
        with report.step("stopping") as step:
            step.result = "" if _stop_everything(checkout) else "nothing was running"
        _bring_up(checkout, report, ports.read_choices(checkout.choices))


def status(checkout: Checkout, report: Report) -> None:
    """Print which processes run, since when, and where."""
    report.say(summary.status(checkout))


def show_logs(checkout: Checkout, report: Report) -> None:
    """Print the last log lines of portal and server; on a terminal, follow them."""
    files = [checkout.logs / "portal.log", checkout.logs / "server.log"]
    logs.show(files, report.say, follow=report.is_terminal)


def work(checkout: Checkout, report: Report) -> None:
    """Replace this process by a worker, which reports itself if a setting is missing."""
    program = checkout.venv / "bin" / "evennia"
    if not program.exists():
        raise PlayError("The game is not installed yet; type: make play")
    os.chdir(checkout.root)
    os.execve(program, [str(program), "ai_worker"], game.environment(checkout, {}))


def _bring_up(checkout: Checkout, report: Report, kept: dict[str, object]) -> None:
    fixed = set(ports.asked_for(os.environ))
    reservations = Reservations(f"the game in {checkout.root} (process {os.getpid()})")
    with reservations, ExitStack() as undo:
        openings = ports.claim(ports.choose(os.environ, kept), fixed, reservations)
        # If the start fails, the old address is restored: the next `make play` must not use one
        # that did not work.
        before = database_url.stored(checkout.server) or database_url.BACK
        undo.callback(_without_signals, partial(database_url.store, checkout.server, before))
        database_url.store(checkout.server, database_url.asked_for())
        endpoint = brain.choose(checkout)
        wants_brain = endpoint.is_local and brain.has_a_build()
        model_start = brain.ModelStart(checkout) if wants_brain else None
        if model_start:
            undo.callback(_without_signals, model_start.end)
        began = report.clock()
        _make_environment(checkout, report, model_start)
        credentials.ensure_secret_key(checkout.secret_key)
        world = _look_into_database(checkout, report, openings)
        if model_start:
            model_start.check()
        # Installing took minutes, so the ports are claimed again. Ports from the owner's own
        # settings are not moved.
        wished = openings.numbers
        fixed |= {name for name, port in world.openings.numbers.items() if port != wished[name]}
        openings = ports.claim(world.openings, fixed, reservations)
        about = {"admin": world.admin, "wrong_settings": world.wrong_settings}
        told = {**openings.as_choices(), **about, **_describe(endpoint, wants_brain)}
        # Stored before the start: `make stop` needs the ports even if this run is killed.
        ports.keep_choices(checkout.choices, told)
        undo.callback(_without_signals, partial(game.stop, checkout))
        with report.step("starting") as step:
            opening.start(checkout, replace(world, openings=openings), on_wait=step.show)
        if model_start:
            with report.step(brain.title(), began) as step:
                has_answered = bool(kept.get(BRAIN_ANSWERED))
                if model_start.finish(step.show, has_answered=has_answered):
                    told[BRAIN_ANSWERED] = True
                else:
                    told[BRAIN_ANSWERED], step.result = has_answered, "is being loaded"
        undo.pop_all()
    shows_password = world.is_new or not kept.get(PASSWORD_SHOWN)
    report.say(summary.opened(checkout, told, shows_password=shows_password))
    ports.keep_choices(checkout.choices, {**told, PASSWORD_SHOWN: True})


def _look_into_database(checkout: Checkout, report: Report, openings: Openings) -> World:
    """Prepare the database, unless nothing has changed since it was last prepared."""
    with report.step("database and world") as step:
        world = prepared.load(checkout, openings)
        if world is None:
            world = game.prepare(checkout, openings)
            prepared.save(checkout, openings, world)
        step.label = f"database, world ({summary.in_brief(world.summary)})"
    if lacking := summary.left_out(world.summary):
        report.say(f"  {lacking}")
    return world


def _make_environment(
    checkout: Checkout, report: Report, model_start: brain.ModelStart | None
) -> None:
    """Make the environment if necessary; the embedded model starts as early as possible."""
    version = ".".join(str(part) for part in sys.version_info[:2])
    spec = environment.EnvironmentSpec(
        root=checkout.root,
        folder=checkout.venv,
        interpreter=environment.base_interpreter(),
        version=version,
        extras=(
            *(("local",) if model_start else ()),
            *(("postgresql",) if database_url.stored(checkout.server) else ()),
        ),
        log=checkout.logs / "install.log",
    )
    is_borrowed = checkout.borrowed_venv is not None
    if is_borrowed and not checkout.python.exists():
        raise PlayError(
            f"EVENNIA_AI_VENV={checkout.venv} is not an environment: no bin/python in it."
        )
    installs = not is_borrowed and not environment.is_ready(spec)
    needed = preflight.ENVIRONMENT_BYTES if installs else preflight.DATABASE_BYTES
    preflight.check_disk(checkout.root, needed, "the game")
    room = brain.room_for_weights() if model_start else None
    if room:
        preflight.check_disk(room, preflight.WEIGHTS_BYTES, "the demo brain")
    if is_borrowed:
        version, evennia = environment.describe(checkout.python)
    else:
        evennia = environment.pinned_evennia(checkout.root, version)
    with report.step(f"Python {version}, Evennia {evennia}") as step:
        step.result = "ok"
    if installs:
        environment.make(spec, report, model_start.fetch if model_start else lambda: None)
    if model_start:
        model_start.start()


def _describe(endpoint: Endpoint, wants_brain: bool) -> dict[str, object]:
    described = endpoint.describe()
    if endpoint.is_local and not wants_brain:
        described = "none: the demo brain has no build for this machine"
    if endpoint.is_local:
        described += f".  {summary.BETTER_BRAIN}"
    if endpoint.notice:
        described += f"  ({endpoint.notice})"
    return {"brain": described, "brain_is_ours": wants_brain}


def _refuse_to_move(kept: dict[str, object]) -> None:
    current = ports.choose({}, kept).as_choices()
    for name, value in ports.asked_for(os.environ).items():
        if value != str(current[name]):
            raise PlayError(
                f"The game is open with {name}={current[name]};"
                f" to move it: make restart {name}={value}"
            )


def _refuse_other_database(checkout: Checkout) -> None:
    asked = database_url.asked_for()
    known = database_url.stored(checkout.server) or database_url.BACK
    if asked is not None and asked.strip() != known:
        raise PlayError(
            "The game is open with another database; to change it: make restart DATABASE_URL=..."
        )


def _stop_everything(checkout: Checkout) -> bool:
    # Both are always stopped, so the results must not be joined by a short-circuiting `or`.
    was_game_running = game.stop(checkout)
    was_brain_running = brain.stop(checkout)
    return was_game_running or was_brain_running


def _without_signals(act: Callable[[], object]) -> None:
    # A second Ctrl-C must not interrupt the clean-up that the first one began.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    act()


@contextmanager
def _lock(checkout: Checkout, request: str) -> Iterator[None]:
    # Opened without truncating: if the lock is held, the file says by whom.
    with checkout.lock.open("a+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            holder = file.read().strip() or "another command"
            raise PlayError(f"{holder} is at work here; wait for it, or interrupt it.") from None
        file.truncate(0)
        file.write(f"{request} (process {os.getpid()})")
        file.flush()
        yield


def _detach_stdin() -> None:
    # Programs that are started from here must not wait for input from the terminal.
    handle = os.open(os.devnull, os.O_RDONLY)
    if handle != 0:
        os.dup2(handle, 0)
        os.close(handle)


def _handle_signals() -> None:
    # A closed terminal or `kill` must clean up like Ctrl-C. A signal that nohup ignores stays so.
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
