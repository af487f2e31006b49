"""The A2A server's settings, and a game without it."""

import subprocess
import sys
from pathlib import Path

import pytest

import tests.evennia_setup  # noqa: F401  (before anything of Evennia is imported)
from evennia_ai.core.safety.addresses import is_private
from evennia_ai.core.settings.services import A2aConfig
from evennia_ai.errors import ConfigurationError
from tests import a2a_kit

ROOT = Path(__file__).resolve().parents[1]
LOOK = """
import sys
import tests.evennia_setup
from evennia_ai.api.a2a import service
service.start_plugin_services(None)
print([name for name in ("a2a", "httpx", "uvicorn", "starlette") if name in sys.modules])
"""


def test_without_a_port_its_sdk_is_not_imported() -> None:
    """The SDK and its web server would cost 60 MB."""
    command = [sys.executable, "-c", LOOK]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "[]" == done.stdout.splitlines()[-1]


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.0.0.1",
        "169.254.169.254",
        "::1",
        "::ffff:10.0.0.1",
        "fe80::1%eth0",
        "0.0.0.0",
        "224.0.0.1",
        "100.64.0.1",
        "fd00::1",
    ],
)
def test_a_private_address_is_one_in_every_form(address: str) -> None:
    """Addresses of this machine, of local networks, and multicast are private, unless allowed."""
    assert is_private(address, ())
    assert not is_private("93.184.216.34", ())
    assert not is_private("10.0.0.1", ("10.0.0.0/8",))


def test_a_wrong_setting_is_told_by_its_path() -> None:
    for given in ({"port": 70_000}, {"hook_networks": ["everywhere"]}, {"prot": 1}):
        with pytest.raises(ConfigurationError, match="EVENNIA_AI_A2A_CONFIG"):
            A2aConfig.from_stored(given)


def test_the_kit_without_its_folder_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(a2a_kit.FOLDER, "")
    assert 2 == a2a_kit.main()
    assert "names no folder of the kit" in capsys.readouterr().err


def test_what_the_kit_finds_has_to_be_explained(capsys: pytest.CaptureFixture[str]) -> None:
    """Only failures in `EXPLAINED` are accepted."""
    known = "FAILED tests/x.py::TestRestFormat::test_response_content_type - no\n1 failed, 2 passed"
    assert 0 == a2a_kit.judge(known)
    assert 1 == a2a_kit.judge(known.replace("content_type", "body"))
    assert 1 == a2a_kit.judge("nothing ran")
    assert "NOT EXPLAINED" in capsys.readouterr().out
