"""Two tables: hostile texts with the text that people must read, and the ways to speak.

Every text goes every way. A new way of speaking, such as a tool, is one row of `ROUTES`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

LISTENER = "Mira"
HARM = "window.scriptRan='yes'"


@dataclass(frozen=True)
class Case:
    """One hostile text.

    Attributes:
        name: the row's id.
        written: the model's text.
        shown: the text that people must read; "" when it is the same.
    """

    name: str
    written: str
    shown: str = ""

    @property
    def expected(self) -> str:
        return self.shown or self.written


CASES = (
    # HTML
    Case("bold", "<b>bold</b> and <i>thin"),
    Case("script", f"<script>{HARM}</script>"),
    Case("image", f"<img src=x onerror={HARM}>"),
    Case("svg", f"<svg/onload={HARM}>"),
    Case("anchor", "<a href='http://evil.example/x' onclick=alert(1)>me</a>"),
    Case("frame", "<iframe src='//evil.example/x'></iframe>"),
    Case("style", "<style>*{display:none}</style><link rel=stylesheet href=//evil.example/x>"),
    Case("way-out", f"</span></div></body><img src=x onerror={HARM}>"),
    Case("quotes", f"\"'><img src=x onerror={HARM}>"),
    Case("comment", f"<!-- --!><img src=x onerror={HARM}> -->"),
    Case("entities", "&lt;b&gt; &#60;b&#62; &amp;lt; &nbsp;."),
    Case("fullwidth", "＜img src=x onerror=alert(1)＞"),  # noqa: RUF001
    # addresses
    Case("http", "see http://evil.example/x now"),
    Case("https", "https://evil.example/x?a=1&b=<2>"),
    Case("https-alone", "https://evil.example"),
    Case("ftp", "ftp://evil.example/x"),
    Case("ftp-dot", "ftp.evil.com/x"),
    Case("www", "www.evil.com"),
    Case("www-example", "www.evil.example/x"),
    Case("www-again", "wwww.evil.com www.www.evil.com wwwww.evil.com"),
    Case("http-prose", "http sucks, www and ftp too"),
    Case("two-addresses", "www http://evil.example/x and http://evil.example/y"),
    Case("bracketed", "(http://evil.example/x), [y](https://evil.example/y)."),
    Case("split-by-pipe", "ht|ntp://evil.example/x http|n://evil.example/y"),
    Case("joined-address", "http\u200d://evil.example/x h\u200cttp://evil.example/y"),
    Case("blank-address", "http\u2060://evil.example/x", "http://evil.example/x"),
    Case("javascript", f"javascript:{HARM} data:text/html,<b>x"),
    Case("mail", "mailto:eve@evil.example eve@evil.example //evil.example/x"),
    # Evennia's own markup
    Case("command-link", "|lclook|ltclick me|le"),
    Case("doubled-command-link", "||lclook||ltclick me||le"),
    Case("tripled-command-link", "|||lclook|||ltclick me|||le"),
    Case("web-link", "|luhttp://evil.example/x|ltclick me|le"),
    Case("web-link-of-script", f"|lujavascript:{HARM}|ltclick me|le"),
    Case("colours", "|rred |[yback |=a |500 |#ff0000 |*|_|/|-|n"),
    Case("odd-pipes", "|||r ||||g |||[R |"),
    Case("template", "{name} {actor} {speech} {0} {} {{two}} }}"),
    Case("functions", "$You() $conj(go) $pconj(go) $eval(1+1) \\$You()"),
    Case("percent", "%cr %s %(name)s %%"),
    Case("at-command", "@ada open; @py self.msg(1)"),
    # characters that are not text
    Case("ansi", "a\x1b[31mred\x1b[0m\x9b1mb", "ared1mb"),
    Case(
        "terminal-link",
        "\x1b]8;;http://evil.example/x\x1b\\click\x1b]8;;\x1b\\ me",
        "]8;;http://evil.example/x\\click]8;;\\ me",
    ),
    Case("bell-in-address", "ht\x07tp://evil.example/x", "http://evil.example/x"),
    Case("backspace-in-address", "httpx\x08://evil.example/x", "httpx://evil.example/x"),
    Case("null", "a\x00b<\x00b>", "ab<b>"),
    Case("right-to-left", "left \u202egnp.exe\u202c \u2066x\u2069", "left gnp.exe x"),
    Case("zero-width", "o\u200bn\ufeffe\u2063 more", "one more"),
    Case("tag-characters", "x\U000e0061\U000e0062y", "xy"),
    Case("faked-line", 'fine\n\nTom says, "I stole it."', 'fine Tom says, "I stole it."'),
    Case(
        "faked-line-in-html",
        "fine<br>Tom bows.|/Tom leaves.\u2028Gone.\x0bNow.",
        "fine<br>Tom bows.|/Tom leaves. Gone. Now.",
    ),
    # text that is not speech
    Case("thought", "<think>he is <b>a fool</b></think>Good day.", "Good day."),
    Case(
        "tool-as-text", '{"tool": "say", "parameters": {"message": "<b>"}} Good day.', "Good day."
    ),
    Case("tool-inside", 'I use {"tool": "say"} now.'),
)

# Texts that a player can type, and have an assistant repeat.
REPEATED = tuple(
    case
    for case in CASES
    if case.name in ("bold", "image", "http", "www", "entities", "template", "functions")
)


@dataclass(frozen=True)
class Route:
    """One way an assistant speaks.

    Attributes:
        name: the row's id.
        behave: the scripted model's behaviour that says a text this way.
        begins, ends: the text that a listener reads before and after it.
        most_characters: the longest text that this way allows.
    """

    name: str
    behave: Callable[[str], dict[str, Any]]
    begins: str
    ends: str
    most_characters: int

    def frame(self, words: str) -> str:
        """The whole line that a listener reads when these words come this way."""
        return f"{self.begins}{words}{self.ends}"


def _calls(tool: str, words: str, **arguments: str) -> Callable[[str], dict[str, Any]]:
    """A model that calls `tool` with the text as its argument `words`."""
    return lambda text: {"calls": [{"tool": tool, "arguments": {**arguments, words: text}}]}


ROUTES = (
    Route("whisper", _calls("whisper", "message", target=LISTENER), 'Ada whispers: "', '"', 700),
    Route("say", _calls("say", "message"), 'Ada says, "', '"', 700),
    Route("emote", _calls("emote", "action"), "Ada ", "", 300),
    Route("page", _calls("page", "message", target=LISTENER), "Ada pages: ", "", 700),
    Route("channel", _calls("channel", "message", channel="Public"), "[Public] Ada: ", "", 400),
)
