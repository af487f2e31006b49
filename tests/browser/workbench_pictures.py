"""Pictures of every page of the workbench, for docs/workbench.md: light, dark, and on a phone.

    python -m tests.browser.workbench_pictures docs/workbench

builds the demo game, starts it with the scripted model of the tests, plays a little, and opens the
pages as the game's owner.
"""

import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from tests.browser.screenshot import product_game
from tests.browser.workbench import NARROW, WIDE, Workbench
from tests.fakes.handle import FakeModel
from tests.journeys.clients import Player
from tests.journeys.staging import run

LOOKS = {"light": (WIDE, "light"), "dark": (WIDE, "dark"), "narrow": (NARROW, "light")}
VISITOR = "Tom"
TALK = (
    ("whisper ada = what is this place?", "whisper", "An old lighthouse full of books."),
    ("whisper ada = my name is Tom and I collect teapots", "whisper", "Teapots! I shall remember."),
    ("say @ada where are the books about storms?", "say", "In the north gallery, third case."),
)
ARRANGE = """
from evennia_ai.operations.settings import changing
operations.add_memory(ada, 'The third stair of the north gallery is loose.', by='admin')
operations.add_goal(ada, 'Find out who moved the great atlas.')
operations.add_lore('The lamp was last lit in the storm of 1888.', keywords=['storm'], by='admin')
changing.set_setting(ada, 'llm_max_tokens', 400, by='admin')
ada.db.context_configs = {'tick_event': {'dangerous_requires_confirm': True}}
ada.db.confirm_by = 'staff'
told = 'arranged'
"""


def pictures(bench: Workbench, assistant: str) -> Iterator[tuple[str, bytes]]:
    """Every page in every look: a name for it, and the picture as WebP."""
    for title, path in bench.pages(assistant).items():
        for look, (size, scheme) in LOOKS.items():
            with bench.seen_as(size, scheme):
                bench.visit(path)
                yield f"{name_of(title)}-{look}", bench.picture()


def name_of(title: str) -> str:
    """The file name of a page: its title in lower case, without punctuation."""
    return re.sub(r"[^a-z]+", "-", title.lower()).strip("-")


def let_happen(owner: Player, visitor: Player, model: FakeModel) -> None:
    """Fill the pages: talk, a memory, a goal, a changed setting, a question."""
    for typed, tool, answer in TALK:
        target = {"target": VISITOR} if tool == "whisper" else {}
        model.queue({"calls": [{"tool": tool, "arguments": {**target, "message": answer}}]})
        visitor.ask(typed, re.escape(answer))
    run(owner, ARRANGE)
    asked = {"tool": "whisper", "arguments": {"target": VISITOR, "message": "I have to ask."}}
    wanted = {"tool": "get", "arguments": {"item": "lamp"}}
    model.queue({"calls": [wanted]}, {"calls": [asked]})
    visitor.ask("whisper ada = take the lamp", re.escape("I have to ask."))


def take_all(folder: Path) -> None:
    with product_game() as (game, model, tab, equipment), ExitStack() as stack:
        owner = stack.enter_context(game.log_in_admin())
        visitor = stack.enter_context(game.open_telnet())
        visitor.create_account(VISITOR)
        visitor.log_in(VISITOR)
        let_happen(owner, visitor, model)
        bench = Workbench(tab, equipment, game.ports.web)
        bench.log_in()
        for name, picture in pictures(bench, "Ada"):
            (folder / f"{name}.webp").write_bytes(picture)


if __name__ == "__main__":
    take_all(Path(sys.argv[1]))
