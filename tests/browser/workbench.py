"""A member of staff at the workbench, in a real browser."""

import base64
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from time import monotonic
from typing import Any

from tests.browser.equipment import AXE, Equipment
from tests.browser.tab import Tab
from tests.browser.ways import ADA, FURTHER, HOME, Way
from tests.journeys.clients import WAIT_SECONDS
from tests.journeys.game import ADMIN_NAME, ADMIN_PASSWORD

WIDE, NARROW = (1000, 760), (360, 740)
SCHEMES = ("light", "dark")
# The page's words while the store has not indexed all, and the most searches until it has.
UNREADY = ("the store of memories did not answer within", "Nothing was found.")
SEARCHES = 20
LOG_IN = """
(name, password) => {
    const form = document.querySelector("input[name=password]").form;
    form.username.value = name;
    form.password.value = password;
    form.submit();
}
"""
IS_LOADED = """
(address, wait) => new Promise(resolve => {
    const end = Date.now() + wait;
    const look = () => {
        const there = location.href.startsWith(address)
            && document.readyState === "complete" && !window.isLeft;
        if (there || Date.now() > end) { resolve(there ? "" : location.href); return; }
        setTimeout(look, 20);
    };
    look();
})
"""
LINKS = """
() => [...document.querySelectorAll("header nav a, nav.tabs a")].map(
    link => [link.innerText, link.getAttribute("href")])
"""
# Every violation, with up to three elements.
RUN_AXE = """
() => axe.run(document).then(found => found.violations.map(
    each => `${each.id}: ${each.nodes.map(node => node.html).slice(0, 3).join(" ")}`))
"""
OVERFLOW = """
() => {
    const root = document.scrollingElement;
    if (root.scrollWidth <= root.clientWidth) { return []; }
    return [...document.querySelectorAll("main *")]
        .filter(each => each.getBoundingClientRect().right > root.clientWidth + 1)
        .map(each => each.outerHTML.slice(0, 120)).slice(0, 5);
}
"""
# The number of controls on the page.
WORKED = """
() => [...document.querySelectorAll(
    "a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']")]
    .filter(each => each.checkVisibility({visibilityProperty: true}) && !each.disabled).length
"""
MARK_FOCUSED = """
() => {
    const here = document.activeElement;
    if (!here || here === document.body) { return "nowhere"; }
    const known = here.dataset.reached === "yes";
    here.dataset.reached = "yes";
    return known ? "again" : here.outerHTML.slice(0, 100);
}
"""
FOCUSED_TEXT = "() => document.activeElement ? document.activeElement.innerText : ''"
# Returns the focused element's type; "summary" if it is in closed details; "" if there is none.
FOCUS = """
const focus = wanted => {
    if (!wanted) { return ""; }
    const shut = wanted.closest("details:not([open])");
    const first = shut ? shut.querySelector("summary") : wanted;
    first.focus();
    return document.activeElement !== first ? "" : shut ? "summary" : wanted.type;
};
"""
FOCUS_BUTTON = """
words => {
    FOCUS
    const told = each => each.textContent.replace(/\\s+/g, " ").trim();
    const all = [...document.querySelectorAll("main button")];
    const found = focus(all.find(each => told(each) === words)
        || all.find(each => told(each).startsWith(words)));
    window.isLeft = found === "submit";
    return found;
}
""".replace("FOCUS", FOCUS)
FOCUS_FIELD = """
selector => {
    FOCUS
    const found = focus(document.querySelector(selector));
    if (!["", "summary", "file", "checkbox"].includes(found)) { document.activeElement.select(); }
    return found;
}
""".replace("FOCUS", FOCUS)
# By the keyboard a file is chosen in a window of the system, which no test can reach.
CHOOSE_FILE = """
(selector, text) => {
    const chosen = new DataTransfer();
    chosen.items.add(new File([text], "card.json", {type: "application/json"}));
    document.querySelector(selector).files = chosen.files;
}
"""
FIRST_TURN = "() => document.querySelector('#fresh h2 a').getAttribute('href')"
WORDS = "() => document.querySelector('main').innerText"
SPACE_KEY = {"key": " ", "code": "Space", "windowsVirtualKeyCode": 32}
TAB_KEY = {"key": "Tab", "code": "Tab", "windowsVirtualKeyCode": 9}


class Workbench:
    """A tab in which a member of staff is logged in."""

    def __init__(self, tab: Tab, equipment: Equipment, web_port: int) -> None:
        self.tab = tab
        self._axe = (equipment.libraries / AXE).read_text("utf-8")
        self._root = f"http://127.0.0.1:{web_port}"

    def log_in(self, name: str = ADMIN_NAME, password: str = ADMIN_PASSWORD) -> None:
        """Go to the workbench by the game's own login page."""
        self.tab.open(self._root + HOME)
        self._wait_for("/auth/login/")
        self.tab.run(LOG_IN, name, password)
        self._wait_for(HOME)
        self.tab.take_incidents()  # Evennia's login page loads files from elsewhere

    def visit(self, path: str) -> None:
        """Open a page, and wait until it is complete."""
        self.tab.open(self._root + path)
        self._wait_for(path)

    def _wait_for(self, path: str) -> None:
        end = monotonic() + WAIT_SECONDS
        elsewhere = "still on its way"
        while elsewhere and monotonic() < end:
            # A page that is left in the meantime gives no answer.
            with suppress(AssertionError):
                elsewhere = self.tab.run(IS_LOADED, self._root + path, 2_000)
        assert not elsewhere, f"{path} did not open: it is {elsewhere}"

    @property
    def words(self) -> str:
        """The visible text of the page, without the menu."""
        return " ".join(str(self.tab.run(WORDS)).split())

    def press(self, button: str, lands_on: str = HOME) -> None:
        """Press a button with these words by the keyboard, and wait for the next page."""
        self._focus(FOCUS_BUTTON, button)
        self.tab.type_line("")
        self._wait_for(lands_on)

    def _focus(self, function: str, wanted: str) -> str:
        """Focus an element, opening the details around it, and return its type."""
        while (kind := self.tab.run(function, wanted)) == "summary":
            self.tab.type_line("")
        assert kind, f"nothing to work with is {wanted!r}: {self.words}"
        return str(kind)

    def fill(self, field: str, text: str) -> None:
        """Replace the text of a field, tick a checkbox, or choose a file with this text."""
        kind = self._focus(FOCUS_FIELD, field)
        if kind == "file":
            self.tab.run(CHOOSE_FILE, field, text)
        elif kind == "checkbox":
            self._press_key({**SPACE_KEY, "text": " "})
        else:
            self.tab.call("Input.insertText", {"text": text})

    def go(self, way: Way) -> None:
        """Go a way by the keyboard, and check the text it must lead to."""
        if way.path:
            self._visit_in_time(way.path)
        for field, text in way.typed:
            self.fill(field, text)
        if way.button:
            self.press(way.button, way.lands_on)
        assert way.says in self.words, f"{way.title}: {self.words}"

    def _visit_in_time(self, path: str) -> None:
        """Visit a page; again while a search in it finds nothing because the store is indexing."""
        for _ in range(SEARCHES):
            self.visit(path)
            words = self.words
            if not any(line in words for line in UNREADY):
                break

    def take_incidents(self) -> list[str]:
        """The incidents since the last call, but for those of leaving for another page of ours."""
        own = f"the page was left for {self._root}{HOME}"
        return [each for each in self.tab.take_incidents() if not each.startswith(own)]

    def pages(self, assistant: str) -> dict[str, str]:
        """Every page that the menus lead to, by title: of the game, and of one assistant."""
        self.visit(HOME)
        own = dict(self.tab.run(LINKS))[assistant]
        self.visit(own)
        return {
            title: path
            for title, path in self.tab.run(LINKS)
            if title != assistant and ("/assistants/" not in path or path.startswith(own))
        }

    def ways(self, names: Mapping[str, str]) -> list[Way]:
        """The ways to every page of the game and of Ada, also to those that no menu leads to."""
        menus = [Way(title, path) for title, path in self.pages("Ada").items()]
        return [*menus, *(way.named(names) for way in FURTHER)]

    def newest_turn(self) -> str:
        """The address of Ada's latest turn."""
        self.visit(ADA)
        return str(self.tab.run(FIRST_TURN))

    # ---- looked at -------------------------------------------------------------------------------

    @contextmanager
    def seen_as(self, size: tuple[int, int], scheme: str) -> Iterator[None]:
        """A window of this size in pixels, light or dark."""
        width, height = size
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.tab.call("Emulation.setDeviceMetricsOverride", metrics)
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.tab.call("Emulation.setEmulatedMedia", {"features": [feature]})
        try:
            yield
        finally:
            self.tab.call("Emulation.clearDeviceMetricsOverride")
            self.tab.call("Emulation.setEmulatedMedia", {"features": []})

    def barriers(self) -> list[str]:
        """The violations of accessibility that axe finds in the page."""
        self.tab.call("Runtime.evaluate", {"expression": self._axe})
        problems: list[str] = self.tab.run(RUN_AXE, timeout_seconds=60.0)
        return problems

    def overflow(self) -> list[str]:
        """The elements that are wider than the window, so that the page scrolls sideways."""
        elements: list[str] = self.tab.run(OVERFLOW)
        return elements

    def unreached(self) -> int:
        """The number of controls that the Tab key misses, going once around."""
        count = int(self.tab.run(WORKED))
        reached = 0
        for _ in range(count + 20):
            self.press_tab()
            where = self.tab.run(MARK_FOCUSED)
            if where == "again":
                break
            reached += where != "nowhere"
        return count - reached

    def press_tab(self) -> None:
        self._press_key(TAB_KEY)

    def _press_key(self, key: dict[str, Any]) -> None:
        down = "keyDown" if "text" in key else "rawKeyDown"
        for kind in (down, "keyUp"):
            self.tab.call("Input.dispatchKeyEvent", {"type": kind, **key})

    def picture(self) -> bytes:
        """The visible page, as WebP."""
        shot: dict[str, Any] = {"format": "webp", "quality": 70}
        return base64.b64decode(self.tab.call("Page.captureScreenshot", shot)["data"])
