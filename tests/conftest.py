"""Shared by all tests: the number of examples for properties, and the one database."""

import gc
import os
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# Times say more of the machine than of a test, also how long examples take to be made.
UNTIMED = settings(deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
# Few examples, so that the tests of the lowest floors are quick enough to run all the time.
settings.register_profile("quick", UNTIMED, max_examples=15, derandomize=True)
# For properties that may build a game for each example; and for the lowest floors.
settings.register_profile("thorough", UNTIMED, max_examples=150)
settings.register_profile("thousands", UNTIMED, max_examples=1500)
settings.load_profile(os.environ.get("EVENNIA_AI_TEST_PROFILE", "quick"))


@pytest.fixture(scope="session")
def database() -> Iterator[None]:
    """Make an empty game database once; only tests that use it load Django."""
    from tests.evennia_setup import fresh_database

    with fresh_database():
        yield


@pytest.fixture(autouse=True, scope="module")
def _freeze_leftovers() -> Iterator[None]:
    """Keep tests as fast at the end of a run as at its beginning.

    Evennia's task handler keeps each login, and with it the game of every test. Freezing these
    leftovers after each module spares the garbage collector from walking through them again.
    """
    yield
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _refuse_lasting_timers() -> Iterator[None]:
    """Refuse a timer that runs on after its test: it would tick in the games of other tests."""
    yield
    reactor: Any = sys.modules.get("twisted.internet.reactor")
    if reactor is None:
        return
    from twisted.internet.task import LoopingCall

    loops = [c.func for c in reactor.getDelayedCalls() if isinstance(c.func, LoopingCall)]
    for loop in loops:
        loop.stop()
    assert not loops, f"this test left timers running: {loops}"


# The longest tests begin first, so that no worker is left alone with one at the end of a run: first
# those with servers, then the others.
LONGEST = (
    *("test_run", "test_workers", "test_schemathesis", "test_workbench", "test_a2a_hooks"),
    *("test_remote_specialists", "test_a2a", "test_remembering", "test_games", "test_restarts"),
    *("test_soak_games", "test_real_model", "test_removing", "test_workbench_live"),
    *("test_roleplay", "test_webclient", "test_a2a_questions", "test_one_ledger", "test_moving"),
    *("test_adopting", "test_failures", "test_safety", "test_install", "test_database_url"),
    *("test_model_check", "test_crashes", "test_command_rights", "test_trouble", "test_doors"),
    *("test_nights", "test_rights", "test_processes", "test_misbehaviour", "test_week"),
    *("test_floors", "test_soak", "test_outages", "test_names", "test_store_kills"),
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let the tests of a module share a worker, since they share a game or a server."""
    ranks = {stem: rank for rank, stem in enumerate(LONGEST)}
    items.sort(key=lambda item: ranks.get(item.path.stem, len(LONGEST)))
    for item in items:
        if item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(item.path.stem))


def _stay_home(event: str, arguments: tuple[object, ...]) -> None:
    """Refuse connections that leave this machine: tests must not depend on the network."""
    if event != "socket.connect":
        return
    address = arguments[1]
    host = address[0] if isinstance(address, tuple) else ""
    is_home = isinstance(address, (str, bytes)) or str(host).startswith("127.") or host == "::1"
    if not is_home and host != "localhost":
        raise ConnectionRefusedError(f"tests talk to this machine only, not to {host}")


sys.addaudithook(_stay_home)
