"""A picture of a conversation in the webclient, for README.

    python -m tests.browser.screenshot docs/webclient.png

builds the demo game, starts it with the scripted model of the tests, and types as a newcomer would.
"""

import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.browser.devtools import Browser
from tests.browser.equipment import Equipment, find_equipment
from tests.browser.tab import Tab
from tests.browser.webclient import BrowserPlayer
from tests.fakes.handle import MODEL_NAME, FakeModel
from tests.journeys.game import Game, make_product_folder

VISITOR = "Tom"
HIDE = "() => { $('#messagewindow').children().hide(); }"
TALK = (
    ("whisper ada = what is this place?", "whisper",
     "The Lantern Library: an old lighthouse full of books, above the harbour of Greyport."),
    ("whisper ada = where are the books about storms?", "whisper",
     "Through the arch, in the north gallery. Third case; mind the loose stair."),
    ("say @ada may I borrow one?", "say",
     "They are read here and never taken home. I'll find you a chair by the window."),
)  # fmt: skip


@contextmanager
def product_game() -> Iterator[tuple[Game, FakeModel, Tab, Equipment]]:
    """The demo game as a new owner has it, with a model and a browser.

    Raises:
        OSError: there is no browser, or the libraries are missing.
    """
    equipment = find_equipment()
    if equipment.lacks:
        raise OSError(equipment.lacks)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        model = stack.enter_context(FakeModel.in_process())
        game = stack.enter_context(Game.make(folder / "game", make_product_folder))
        game.build_product()
        game.ask_model_at(model.base_url, MODEL_NAME)
        game.start(by_launcher=True)
        browser = stack.enter_context(Browser.launch(equipment.browser, folder / "browser"))
        yield game, model, Tab(browser, equipment), equipment


def take(path: Path) -> None:
    """Write the picture to `path`, as a PNG."""
    with product_game() as (game, model, tab, _):
        path.write_bytes(converse(BrowserPlayer(tab, game.ports.web), model))


def converse(player: BrowserPlayer, model: FakeModel) -> bytes:
    """Log in, talk, and return a picture of the page."""
    player.expect(r"\bconnect\b")
    player.create_account(VISITOR)
    player.tab.run(HIDE)
    player.log_in(VISITOR)
    for typed, tool, answer in TALK:
        target = {"target": VISITOR} if tool == "whisper" else {}
        model.queue({"calls": [{"tool": tool, "arguments": {**target, "message": answer}}]})
        player.ask(typed, re.escape(answer))
    return player.tab.take_screenshot()


if __name__ == "__main__":
    take(Path(sys.argv[1]))
