"""Response times of the workbench's pages, next to a list of Evennia's own admin.

    python -m benchmarks.workbench_pages [--rounds 20]

The demo game with a scripted model and a few past turns. The pages are requested in turns, one
request at a time, with a session that is logged in. Times are of the whole request over HTTP,
through Evennia's proxy, in milliseconds: the median, and its ratio to the admin's list of objects.
"""

from __future__ import annotations

import argparse
import re
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from http.cookiejar import CookieJar
from pathlib import Path
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, OpenerDirector, ProxyHandler, Request, build_opener

from tests.fakes.handle import MODEL_NAME, FakeModel
from tests.journeys.game import ADMIN_NAME, ADMIN_PASSWORD, Game, make_product_folder

PEER = "/admin/objects/objectdb/"
OF_THE_GAME = ("", "questions/", "money/", "make/", "lore/", "audit/", "health/", "me/")
OF_ONE = (
    *("", "turns/", "bench/", "memory/", "people/", "nights/", "audit/", "prompt/", "settings/"),
)
TURNS = 5
TOKEN = re.compile(r'csrfmiddlewaretoken" value="(\w+)')


def log_in(root: str) -> OpenerDirector:
    """Return a session of the game's owner on its web site."""
    browser = build_opener(ProxyHandler({}), HTTPCookieProcessor(CookieJar()))
    address = f"{root}/auth/login/"
    match = TOKEN.search(browser.open(address).read().decode())
    assert match is not None, "the login page has no token"
    form = {"username": ADMIN_NAME, "password": ADMIN_PASSWORD, "csrfmiddlewaretoken": match[1]}
    browser.open(Request(address, urlencode(form).encode(), {"Referer": address})).read()
    return browser


def addresses() -> Iterator[str]:
    """Return the peer, and every page of the menus."""
    yield PEER
    yield from (f"/ai/{path}" for path in OF_THE_GAME)
    yield from (f"/ai/assistants/Ada/{path}" for path in OF_ONE)


def measure(browser: OpenerDirector, root: str, rounds: int) -> Mapping[str, float]:
    """Return the median milliseconds of each page; the pages take turns."""
    took: dict[str, list[float]] = {path: [] for path in addresses()}
    for number in range(rounds + 1):
        for path, times in took.items():
            began = time.perf_counter()
            with browser.open(root + path) as page:
                body = page.read()
            if number:  # the first request imports everything
                times.append((time.perf_counter() - began) * 1000)
            assert b"</html>" in body, path
    return {path: statistics.median(times) for path, times in took.items()}


def main() -> None:
    """Start a game, run some turns, measure, print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        model = stack.enter_context(FakeModel.in_process())
        game = stack.enter_context(Game.make(folder / "game", make_product_folder))
        game.build_product()
        game.ask_model_at(model.base_url, MODEL_NAME)
        game.start(by_launcher=True)
        with game.log_in_admin() as owner:
            for number in range(TURNS):
                owner.ask(f"whisper ada = line {number}", f"Ada whispers: .*line {number}")
        root = f"http://127.0.0.1:{game.ports.web}"
        times = measure(log_in(root), root, options.rounds)
    print("| page | ms | ratio to the admin's list |\n|---|--:|--:|")
    for path, ms in times.items():
        print(f"| `{path}` | {ms:.0f} | {ms / times[PEER]:.1f} |")


if __name__ == "__main__":
    main()
