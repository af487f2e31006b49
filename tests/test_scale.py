"""The page on several machines: its compose file and its settings are valid."""

import re
from ast import literal_eval
from pathlib import Path
from typing import Any

import pytest
import yaml

from evennia_ai.llm.endpoints import resolve
from evennia_ai.llm.replicas import with_replicas

ROOT = Path(__file__).resolve().parents[1]
PAGE, COMPOSE = ROOT / "docs" / "scale.md", ROOT / "docs" / "compose.yaml"
LIST = re.compile(r"^EVENNIA_AI_ENDPOINTS = (\[.*?^\])", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    data = yaml.safe_load(COMPOSE.read_text("utf-8"))
    assert {"services", "volumes"} == set(data)
    return dict(data)


def test_each_service_is_there_that_another_needs(compose: dict[str, Any]) -> None:
    services = compose["services"]
    for service in services.values():
        assert service["image"]
        assert set(service.get("depends_on", ())) <= set(services)
        named = [volume.partition(":")[0] for volume in service.get("volumes", ())]
        assert {name for name in named if name.isalpha()} <= set(compose["volumes"])
    assert "@database/" in services["game"]["command"][-1]


def test_nothing_listens_but_on_this_machine(compose: dict[str, Any]) -> None:
    """Opening a port to the world must be the owner's own choice."""
    for service in compose["services"].values():
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ()))
    text = COMPOSE.read_text("utf-8")
    assert not re.search(r"PASSWORD:\s*[A-Za-z0-9]", text)


def test_what_is_typed_in_it_exists(compose: dict[str, Any]) -> None:
    """`make logs` keeps running only with a terminal, so the game needs `tty`."""
    assert compose["services"]["game"]["tty"]
    typed = " ".join(compose["services"]["game"]["command"])
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    words = re.findall(r"make ([a-z-]+)", typed)
    assert words
    assert set(words) <= set(targets)


def test_the_pages_endpoints_are_those_of_the_compose_file(compose: dict[str, Any]) -> None:
    match = LIST.search(PAGE.read_text("utf-8"))
    assert match is not None
    environ = compose["services"]["game"]["environment"]
    endpoint = with_replicas(resolve(environ), literal_eval(match[1]), environ)
    hosts = [re.split("[/:]+", each.base_url)[1] for each in endpoint.replicas]
    assert ["model-one", "model-two"] == hosts
    assert set(hosts) <= set(compose["services"])
