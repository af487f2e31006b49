"""The setting EVENNIA_AI_MCP_SERVERS: read strictly, its secrets never shown."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evennia_ai.core.turn.toolspec import ToolCategory
from evennia_ai.errors import ConfigurationError
from evennia_ai.mcp.config import ServerConfig, read_servers

ENVIRON = {"TOKEN": " Bearer sesame-1234\n", "SPLIT": "a\nb", "EMPTY": " "}
URL = "http://127.0.0.1:9000/mcp"


def test_a_program() -> None:
    given = {
        "command": ["almanac", "--all"],
        "env": {"A": "b"},
        "cwd": Path("/tmp"),
        "tools": ["tide"],
        "category": "dangerous",
        "timeout_seconds": 5,
        "cache_seconds": 60,
        "needs_confirmation": True,
        "may_hear_private": True,
    }
    expected = ServerConfig(
        "almanac",
        command=("almanac", "--all"),
        env={"A": "b"},
        cwd="/tmp",
        tools=frozenset({"tide"}),
        category=ToolCategory.DANGEROUS,
        timeout_seconds=5.0,
        cache_seconds=60.0,
        needs_confirmation=True,
        may_hear_private=True,
    )
    assert {"almanac": expected} == read_servers({"almanac": given}, ENVIRON)


def test_a_server_on_the_web() -> None:
    """Defaults fill in the rest; a header's value comes from the environment."""
    given = {"url": URL, "headers_from_env": {"Authorization": "TOKEN"}}
    (config,) = read_servers({"wiki": given}, ENVIRON).values()
    assert (URL, {"Authorization": "Bearer sesame-1234"}) == (config.url, config.headers)
    assert (ToolCategory.ASYNC_REQUIRED, 30.0, None) == (
        config.category,
        config.timeout_seconds,
        config.tools,
    )


def test_no_servers() -> None:
    assert {} == read_servers({}, ENVIRON)


def test_secrets_are_not_shown() -> None:
    given = {"url": f"{URL}?key=sesame-5678", "headers_from_env": {"Authorization": "TOKEN"}}
    (config,) = read_servers({"wiki": given}, ENVIRON).values()
    assert URL == config.describe()
    assert "sesame" not in repr(config)
    assert "no ***" == config.without_secrets("no sesame-1234")
    assert "no ***, no ***" == config.without_secrets("no Bearer sesame-1234, no key=sesame-5678")


def test_a_program_is_described_without_its_arguments() -> None:
    """The arguments may hold a password."""
    (config,) = read_servers({"a": {"command": ["almanac", "-psesame"]}}, ENVIRON).values()
    assert "program almanac" == config.describe()


def _server(**entry: Any) -> dict[str, Any]:
    return {"wiki": {"url": URL} | entry}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(["wiki"], "is of type list; it must be a mapping", id="a list"),
        pytest.param({"a b": {"url": URL}}, "a server 'a b'; a name is up to", id="a blank"),
        pytest.param({"a__b": {"url": URL}}, "a server 'a__b'; a name is", id="two underscores"),
        pytest.param({"a_": {"url": URL}}, "a server 'a_'; a name is", id="one at the end"),
        pytest.param({"a" * 24: {"url": URL}}, "a name is up to 23", id="a long name"),
        pytest.param({1: {"url": URL}}, "a server 1; a name is", id="a number for a name"),
        pytest.param({"wiki": URL}, "['wiki'] is of type str; it must be a mapping", id="a text"),
        pytest.param({"wiki": {}}, "['wiki'] must have either a 'command' or a 'url'", id="none"),
        pytest.param(_server(command=["x"]), "either a 'command' or a 'url', not both", id="both"),
        pytest.param(_server(colour=1), "['wiki'] has 'colour'; it may have url, headers_from_env, "
                     "tools, category, timeout_seconds, cache_seconds, needs_confirmation, "
                     "may_hear_private",
                     id="an unknown key"),
        pytest.param(_server(env={}), "['wiki'] has 'env'; it may have url", id="env of the web"),
        pytest.param({"wiki": {"command": "x"}}, "['wiki']['command'] must be a list of one or "
                     "more texts, none of them empty", id="a command line"),
        pytest.param({"wiki": {"command": []}}, "must be a list of one", id="an empty command"),
        pytest.param({"wiki": {"command": ["x", 1]}}, "must be a list of one", id="a number in it"),
        pytest.param({"wiki": {"command": ["x\0"]}}, "zero character", id="a zero in a command"),
        pytest.param({"wiki": {"command": ["x"], "env": {"A": 1}}}, "['wiki']['env'] must be a "
                     "mapping of variable names to texts", id="a number in env"),
        pytest.param({"wiki": {"command": ["x"], "env": {"A=": "1"}}}, "['wiki']['env']: a "
                     "variable's name is not empty and has no '='", id="a name with a sign"),
        pytest.param({"wiki": {"command": ["x"], "cwd": 3}}, "['wiki']['cwd'] must be the path of "
                     "a folder", id="a number for a folder"),
        pytest.param(_server(url="ftp://x"), "['wiki']['url'] must be a web address", id="ftp"),
        pytest.param(_server(url="http://[x"), "must be a web address", id="half an address"),
        pytest.param(_server(url="http://x/\n"), "must be a web address", id="a line break"),
        pytest.param(_server(url=7), "must be a web address", id="a number for an address"),
        pytest.param(_server(url="http://u:p@x/"), "holds a user name or a password", id="login"),
        pytest.param(_server(headers_from_env={"A": 1}), "['headers_from_env'] must map headers to "
                     "environment variables", id="a number for a variable"),
        pytest.param(_server(headers_from_env={"A:": "TOKEN"}), "'A:' is not the name of a header",
                     id="no name of a header"),
        pytest.param(_server(headers_from_env={"A": "NONE"}), "needs the environment variable "
                     "'NONE'", id="a variable that is not set"),
        pytest.param(_server(headers_from_env={"A": "EMPTY"}), "needs the environment variable "
                     "'EMPTY'", id="a variable that is empty"),
        pytest.param(_server(headers_from_env={"A": "SPLIT"}), "'SPLIT' cannot be sent as a "
                     "header", id="a value of two lines"),
        pytest.param(_server(tools="tide"), "['tools'] must be a list of one", id="tools as text"),
        pytest.param(_server(category="terminal"), "['category'] is 'terminal'; it must be "
                     "async_required or dangerous", id="another category"),
        pytest.param(_server(category=[]), "['category'] is []; it must be", id="no category"),
        pytest.param(_server(timeout_seconds=0), "['timeout_seconds'] is 0; it must be a number of "
                     "seconds above 0", id="no time"),
        pytest.param(_server(timeout_seconds=True), "is True; it must be a number", id="a yes"),
        pytest.param(_server(timeout_seconds=float("inf")), "is inf; it must", id="no end"),
        pytest.param(_server(cache_seconds="1"), "['cache_seconds'] is '1'; it", id="a text"),
        pytest.param(_server(needs_confirmation=1), "['needs_confirmation'] is 1; it must be True "
                     "or False", id="a one for a yes"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(given: Any, expected: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(expected)) as caught:
        read_servers(given, ENVIRON)
    assert str(caught.value).startswith("EVENNIA_AI_MCP_SERVERS")
    assert "sesame" not in str(caught.value)


WITHOUT_SDK = """
import importlib.metadata, sys
import httpx2  # which the openai SDK brings
sys.modules["mcp"] = None
class Hidden(importlib.metadata.DistributionFinder):
    def find_distributions(self, context=importlib.metadata.DistributionFinder.Context()):
        return []
    def find_spec(self, *arguments):
        return None
real = sys.meta_path[:]
sys.meta_path[:] = [Hidden(), *(f for f in real if not hasattr(f, "find_distributions"))]
from importlib.machinery import PathFinder
class Plain:
    find_spec = staticmethod(PathFinder.find_spec)
sys.meta_path.append(Plain)
from evennia_ai.errors import ConfigurationError
from evennia_ai.mcp.config import read_servers
from evennia_ai.mcp.servers import RemoteServers
from evennia_ai.resilience import CircuitBreakerRegistry
def make(setting):
    servers = read_servers(setting, {}).values()
    ports = {"as_deferred": None, "reactor": None, "log": print, "pins": None}
    return RemoteServers(servers, breakers=CircuitBreakerRegistry(), **ports)
assert {} == make({}).specs()
try:
    make({"wiki": {"url": "http://127.0.0.1:9000/mcp"}})
except ConfigurationError as error:
    print(error)
"""


def test_without_the_sdk() -> None:
    """A game without servers needs no SDK; one with servers is told what to install."""
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_SDK], capture_output=True, text=True, timeout=60, check=False
    )
    assert "" == done.stderr
    assert (
        "EVENNIA_AI_MCP_SERVERS names servers, but the package mcp is not installed; "
        "install it with: pip install 'evennia-ai[mcp]'\n"
    ) == done.stdout
