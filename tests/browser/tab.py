"""One tab of the browser, which notes everything that hostile text must not cause.

Loopback is reachable and the libraries are answered from files; every other request is refused and
noted. So are dialogs, frames, new windows, leaving the page, errors of its scripts, and a script
that set `window.scriptRan`, which the hostile texts of the tests try to do.
"""

import base64
import json
from pathlib import Path
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

from tests.browser.devtools import ANSWER_SECONDS, Browser
from tests.browser.equipment import CONTENT_TYPES, Equipment

TAKE_MARK = "() => { const mark = window.scriptRan; delete window.scriptRan; return mark; }"
ENTER = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13}


class Tab:
    """A tab, with cookies of its own.

    Attributes:
        served: addresses that were answered from the libraries.
        refused: addresses elsewhere that were requested and refused.
        incidents: one sentence for each thing that no text may cause, in order.
    """

    def __init__(self, browser: Browser, equipment: Equipment) -> None:
        self.served: list[str] = []
        self.refused: list[str] = []
        self.incidents: list[str] = []
        self._browser = browser
        self._equipment = equipment
        context = browser.call("Target.createBrowserContext", {"disposeOnDetach": True})
        place = {"url": "about:blank", "browserContextId": context["browserContextId"]}
        self._target: str = browser.call("Target.createTarget", place)["targetId"]
        attached = browser.call(
            "Target.attachToTarget", {"targetId": self._target, "flatten": True}
        )
        self._session: str = attached["sessionId"]
        self._address = ""
        self._listen()
        self._main_frame: str = self.call("Page.getFrameTree")["frameTree"]["frame"]["id"]

    def _listen(self) -> None:
        heard = {
            "Fetch.requestPaused": self._answer_request,
            "Page.javascriptDialogOpening": self._close_dialog,
            "Page.frameNavigated": self._note_navigation,
            "Runtime.exceptionThrown": self._note_error,
        }
        for event, listener in heard.items():
            self._browser.listeners[self._session, event].append(listener)
        self._browser.listeners["", "Target.targetCreated"].append(self._note_window)
        self._browser.call("Target.setDiscoverTargets", {"discover": True})
        for domain in ("Page", "Runtime"):
            self.call(f"{domain}.enable")
        self.call("Fetch.enable", {"patterns": [{"urlPattern": "*"}]})

    def call(
        self,
        method: str,
        parameters: dict[str, Any] | None = None,
        timeout_seconds: float = ANSWER_SECONDS,
    ) -> dict[str, Any]:
        """Call a method of this tab; see `Browser.call`."""
        return self._browser.call(
            method, parameters, session=self._session, timeout_seconds=timeout_seconds
        )

    def open(self, address: str) -> None:
        self._address = address
        failed = self.call("Page.navigate", {"url": address}).get("errorText")
        assert not failed, f"{address} did not open: {failed}"

    def close(self) -> None:
        self._browser.call("Target.closeTarget", {"targetId": self._target})

    def run(self, function: str, *arguments: Any, timeout_seconds: float = ANSWER_SECONDS) -> Any:
        """Call a JavaScript function in the page, await its promise, and return the value."""
        given = ", ".join(json.dumps(argument) for argument in arguments)
        asked = {
            "expression": f"({function})({given})",
            "awaitPromise": True,
            "returnByValue": True,
        }
        answer = self.call("Runtime.evaluate", asked, timeout_seconds)
        assert "exceptionDetails" not in answer, f"{function}: {answer['exceptionDetails']}"
        return answer["result"].get("value")

    def type_line(self, line: str) -> None:
        """Type into the focused element, and press Enter."""
        if line:
            self.call("Input.insertText", {"text": line})
        self.call("Input.dispatchKeyEvent", {"type": "keyDown", "text": "\r", **ENTER})
        self.call("Input.dispatchKeyEvent", {"type": "keyUp", **ENTER})

    def click(self, x: float, y: float) -> None:
        """Click with the left button, in CSS pixels from the top left."""
        where = {"x": x, "y": y, "button": "left", "clickCount": 1}
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", {"type": kind, **where})

    def take_screenshot(self) -> bytes:
        """The visible page, as a PNG."""
        return base64.b64decode(self.call("Page.captureScreenshot", {"format": "png"})["data"])

    def take_incidents(self) -> list[str]:
        """The incidents since the last call."""
        ran = self.run(TAKE_MARK)
        if ran is not None:
            self.incidents.append(f"a script ran: {ran}")
        taken, self.incidents = self.incidents, []
        return taken

    def wait_for_incidents(self, timeout_seconds: float = 10.0) -> list[str]:
        """The incidents since the last call, or else the next one."""
        end = monotonic() + timeout_seconds
        while not (taken := self.take_incidents()) and (remaining := end - monotonic()) > 0:
            # A script that only set its mark sends no event, so look again after a moment too.
            self._browser.hear(min(remaining, 0.1))
        return taken

    # ---- what the browser tells ----------------------------------------------------------------

    def _answer_request(self, event: dict[str, Any]) -> None:
        url = event["request"]["url"]
        library = self._equipment.find_library(url)
        if urlsplit(url).hostname == "127.0.0.1":
            method, answer = "Fetch.continueRequest", {}
        elif library is not None:
            self.served.append(url)
            method, answer = "Fetch.fulfillRequest", compose_answer(library)
        else:
            self.refused.append(url)
            self.incidents.append(f"asked for {url}")
            method, answer = "Fetch.failRequest", {"errorReason": "BlockedByClient"}
        order = {"requestId": event["requestId"], **answer}
        self._browser.send(method, order, session=self._session)

    def _close_dialog(self, event: dict[str, Any]) -> None:
        self.incidents.append(f"a dialog opened: {event['message']}")
        self._browser.send("Page.handleJavaScriptDialog", {"accept": True}, session=self._session)

    def _note_navigation(self, event: dict[str, Any]) -> None:
        frame = event["frame"]
        if frame["id"] != self._main_frame:
            self.incidents.append(f"a frame opened: {frame['url']}")
        elif frame["url"].rstrip("/") != self._address.rstrip("/"):
            self.incidents.append(f"the page was left for {frame['url']}")

    def _note_window(self, event: dict[str, Any]) -> None:
        target = event["targetInfo"]
        if target["type"] == "page" and target.get("openerId") == self._target:
            self.incidents.append(f"a window opened: {target['url']}")
            # It would cover this tab, and a browser throttles pages in the background.
            self._browser.send("Target.closeTarget", {"targetId": target["targetId"]})

    def _note_error(self, event: dict[str, Any]) -> None:
        details = event["exceptionDetails"]
        message = details.get("exception", {}).get("description", details["text"])
        self.incidents.append(f"the page's script failed: {message}")


def compose_answer(library: Path) -> dict[str, Any]:
    """The answer to a request for a file elsewhere, from a local file."""
    headers = {
        "Content-Type": CONTENT_TYPES[library.suffix],
        # The page gives digests for most of them, which are only checked with this header.
        "Access-Control-Allow-Origin": "*",
    }
    return {
        "responseCode": 200,
        "responseHeaders": [{"name": name, "value": value} for name, value in headers.items()],
        "body": base64.b64encode(library.read_bytes()).decode(),
    }
