"""The browser itself: loading of pages, and notice of all that the other tests say is absent."""

import json
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.browser.conftest import OpenTab, demand
from tests.browser.equipment import AXE, SERVED, Equipment
from tests.journeys import processes
from tests.journeys.game import ROOT

PINNED = json.loads(Path(__file__).with_name("package.json").read_text("utf-8"))["dependencies"]
# The incident of each piece of HTML in a page.
NOTICED = {
    "<script>window.scriptRan='now'</script>": "a script ran: now",
    "<img src=x onerror=window.scriptRan='late'>": "a script ran: late",
    "<img src=http://evil.example/x>": "asked for http://evil.example/x",
    "<script>alert('boo')</script>": "a dialog opened: boo",
    "<iframe src=about:blank></iframe>": "a frame opened: about:blank",
    "<script>throw Error('ouch')</script>": "the page's script failed: Error: ouch",
}


def make_page(html: str) -> str:
    return f"data:text/html,{quote(html)}"


@pytest.mark.parametrize("html", NOTICED)
def test_what_html_can_bring_about_is_noticed(open_tab: OpenTab, html: str) -> None:
    tab = open_tab()
    tab.open(make_page(html))
    assert tab.wait_for_incidents()[0].startswith(NOTICED[html])
    tab.close()


@pytest.mark.parametrize("target", ["_self", "_blank"])
def test_a_link_that_is_followed_is_noticed(open_tab: OpenTab, target: str) -> None:
    tab = open_tab()
    tab.open(make_page(f"<a href=http://evil.example/x target={target}>{'wide ' * 20}</a>"))
    assert [] == tab.take_incidents()
    tab.click(40, 20)
    expected = {"_self": "asked for http://evil.example/x", "_blank": "a window opened: "}
    assert tab.wait_for_incidents()[0].startswith(expected[target])
    tab.close()


def test_a_file_of_ours_is_served_only_for_its_own_address(equipment: Equipment) -> None:
    assert equipment.find_library("https://code.example/jquery-3.2.1.min.js") is not None
    for url in ("https://a.example/jquery.js", "https://a.example/?/jquery-3.2.1.min.js"):
        assert equipment.find_library(url) is None


def test_the_libraries_are_pinned(equipment: Equipment) -> None:
    assert {name.partition("/")[0] for name in (*SERVED.values(), AXE)} == set(PINNED)
    for name, version in PINNED.items():
        installed = json.loads((equipment.libraries / name / "package.json").read_text("utf-8"))
        assert version == installed["version"]


@pytest.mark.parametrize("is_ci", [False, True])
def test_a_missing_browser_is_named(equipment: Equipment, tmp_path: Path, is_ci: bool) -> None:
    """Without the equipment a test is skipped, or fails on CI, and names what is missing."""
    bare = replace(equipment, browser="", libraries=tmp_path)
    outcome = pytest.fail.Exception if is_ci else pytest.skip.Exception
    with pytest.raises(outcome, match=r"no chromium .* and 9 of 9 libraries .*`make browser`"):
        demand(bare, is_ci=is_ci)
    assert equipment is demand(equipment, is_ci=is_ci)


def test_a_browser_does_not_outlive_its_test_run(equipment: Equipment, tmp_path: Path) -> None:
    """A killed test run leaves no process of its browser."""
    script = (
        "import os, sys; from pathlib import Path;"
        "from tests.browser.devtools import Browser;"
        "started = Browser.launch(sys.argv[1], Path(sys.argv[2])).__enter__();"
        "print(started.pid, flush=True); os.kill(os.getpid(), 9)"
    )
    result = subprocess.run(
        [sys.executable, "-c", script, equipment.browser, tmp_path],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        check=False,
    )
    assert -signal.SIGKILL == result.returncode
    processes.wait_for_end(int(result.stdout), 20)
    for pid in processes.find_processes(tmp_path):
        processes.wait_for_end(pid, 20)
