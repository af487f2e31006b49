"""A game with MCP servers that is reloaded again and again."""

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.handle import FakeModel
from tests.journeys import processes
from tests.journeys.clients import Enter
from tests.journeys.game import ROOT, UNHURRIED, Game
from tests.journeys.lines import whisper_of
from tests.journeys.staging import quiet_log
from tests.profiles import IS_THOROUGH

__all__ = ("quiet_log",)
SERVERS = str(ROOT / "tests/mcp/servers.py")
RELOADS = int(os.environ.get("EVENNIA_AI_RELOADS", "3" if IS_THOROUGH else "1"))


@pytest.fixture(scope="module")
def game_settings() -> dict[str, Any]:
    """Three MCP servers, one of which is slow to end."""
    almanac = {"command": [sys.executable, SERVERS, "almanac"]}
    slow = {"command": [*almanac["command"], "lingers"]}
    return {**UNHURRIED, "EVENNIA_AI_MCP_SERVERS": {"one": almanac, "two": almanac, "slow": slow}}


@pytest.mark.usefixtures("quiet_log")
def test_a_game_with_mcp_servers_comes_back_from_each_reload(
    game: Game, enter: Enter, model: FakeModel
) -> None:
    """The old server ends in time, and leaves none of its programs behind."""
    tom = enter("Tom")
    for number in range(RELOADS):
        wait_for_servers(game, number + 1)
        with game.log_in_admin() as owner:
            for name in ("one", "two", "slow"):
                owner.ask("assistant status ada", rf"mcp +{name}: connected, \d+ tools")
        before = game.read_pid("server")
        programs = children_of(before)
        assert len(programs) >= 3
        game.reload()
        tom.ask(f"whisper ada = reload {number}?", whisper_of(f"reload {number}?"), 30)
        assert before != game.read_pid("server")
        for pid in (before, *programs):
            processes.wait_for_end(pid, 30)


def wait_for_servers(game: Game, starts: int) -> None:
    """Wait until each MCP server has connected after so many starts of the game."""
    with processes.follow(game.folder / "server/logs/server.log") as log:
        for name in ("one", "two", "slow"):
            log.wait_for(rf"(?s)(?:mcp server {name}: connected.*?){{{starts}}}", 60)


def children_of(pid: int) -> list[int]:
    children = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # the process has ended in the meantime
            parent = int(path.read_text().rpartition(")")[2].split()[1])
            children += [int(path.parent.name)] * (parent == pid)
    return children
