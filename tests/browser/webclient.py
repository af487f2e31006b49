"""A player at the real webclient, who types in its input field and reads its page.

Beside the transcript that every `Player` has, each message is kept as the page made it: its text as
a person reads it, and every element in it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import Any

from tests.browser.tab import Tab
from tests.journeys.clients import WAIT_SECONDS, Player

# The webclient's own markup of a message: a block, colours and line breaks, with classes.
PLAIN_TAGS = frozenset(("div", "span", "br"))
PLAIN_ATTRIBUTES = frozenset(("class",))

READ_MESSAGES = """
(seen, wait) => new Promise(resolve => {
    const pane = document.querySelector("#messagewindow");
    const describe = message => ({
        text: message.innerText,
        html: message.outerHTML,
        elements: [message, ...message.querySelectorAll("*")].map(element => [
            element.localName,
            Object.fromEntries([...element.attributes].map(a => [a.name, a.value])),
        ]),
    });
    const read = () => [...pane.children].slice(seen).map(describe);
    if (pane.children.length > seen) { resolve(read()); return; }
    const finish = () => { observer.disconnect(); resolve(read()); };
    const observer = new MutationObserver(finish);
    observer.observe(pane, {childList: true});
    setTimeout(finish, wait);
})
"""
WAIT_FOR_INPUT = """
() => new Promise(resolve => {
    const look = () => document.querySelector(".inputfield") ? resolve() : setTimeout(look, 20);
    look();
})
"""
FOCUS_INPUT = "() => document.querySelector('.inputfield').focus()"
FIND_LAST = """
() => {
    const words = document.createRange();
    words.selectNodeContents(document.querySelector("#messagewindow").lastElementChild);
    const box = words.getBoundingClientRect();
    return [box.left, box.top, box.width, box.height];
}
"""


@dataclass(frozen=True)
class Message:
    """One message in the output area.

    Attributes:
        text: the text that a person reads.
        html: its markup in the page.
        elements: tag and attributes of every element in it, the message itself first.
    """

    text: str
    html: str
    elements: tuple[tuple[str, dict[str, str]], ...]

    @property
    def oddities(self) -> list[str]:
        """Everything beside the webclient's own coloured text: links, tags, attributes."""
        tags = [f"<{tag}>" for tag, _ in self.elements if tag not in PLAIN_TAGS]
        attributes = [
            f"{name}={value!r} in <{tag}>"
            for tag, given in self.elements
            for name, value in given.items()
            if name not in PLAIN_ATTRIBUTES
        ]
        return tags + attributes


class BrowserPlayer(Player):
    """A person at the webclient's page.

    Attributes:
        tab: the tab with the page in it.
        messages: the messages that the output area has shown so far.
    """

    def __init__(self, tab: Tab, web_port: int) -> None:
        super().__init__()
        self.tab = tab
        self.messages: list[Message] = []
        tab.open(f"http://127.0.0.1:{web_port}/webclient/")
        tab.run(WAIT_FOR_INPUT)

    def send(self, line: str) -> None:
        self.tab.run(FOCUS_INPUT)
        self.tab.type_line(line)

    def close(self) -> None:
        self.tab.close()

    def wait_for_message(
        self, is_wanted: Callable[[Message], bool], timeout_seconds: float = WAIT_SECONDS
    ) -> Message:
        """Wait for a wanted message that comes after this call.

        Raises:
            AssertionError: none came in time; the text holds those that came.
        """
        start = len(self.messages)
        end = monotonic() + timeout_seconds
        while (remaining := end - monotonic()) > 0:
            at = len(self.messages)
            self.transcript += self._receive(remaining)
            match = next(filter(is_wanted, self.messages[at:]), None)
            if match:
                return match
        came = "\n".join(message.html for message in self.messages[start:])
        raise AssertionError(f"no such message within {timeout_seconds:g} s; this came:\n{came}")

    def click_last_message(self, step_pixels: int = 12) -> None:
        """Click all along the newest message, so that a link anywhere in it is hit."""
        left, top, width, height = self.tab.run(FIND_LAST)
        for x in range(int(left) + step_pixels // 2, int(left + width), step_pixels):
            self.tab.click(x, top + height / 2)

    def _receive(self, timeout_seconds: float) -> str:
        wait_milliseconds = int(timeout_seconds * 1000)
        came: list[dict[str, Any]] = self.tab.run(
            READ_MESSAGES,
            len(self.messages),
            wait_milliseconds,
            timeout_seconds=timeout_seconds + 10.0,
        )
        new = [
            Message(m["text"], m["html"], tuple((tag, given) for tag, given in m["elements"]))
            for m in came
        ]
        self.messages += new
        return "".join(f"{message.text}\n" for message in new)
