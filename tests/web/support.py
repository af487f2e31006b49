"""A game with Ada, accounts of every right, and browsers, shared by tests of the pages."""

import html
import re
from html.parser import HTMLParser
from typing import Any, ClassVar, Self

from django.conf import settings
from django.http import HttpResponse
from django.test import Client
from django.test.utils import override_settings
from django.urls import reverse
from evennia.accounts.models import AccountDB

from evennia_ai.web.rows import APP_NAME
from tests.game.support import GameTest, account_with

BACKEND = "evennia.web.utils.backends.CaseInsensitiveModelBackend"
# Read at import, before Evennia's test classes replace it with a list of their own.
MIDDLEWARE = list(settings.MIDDLEWARE)
PAGES = settings.ROOT_URLCONF
# Values of further names in the path of an address.
NAMES = {"number": 1, "pack": "written-here"}
TAGS = re.compile(r"<(script|style).*?</\1>|<[^>]+>", re.DOTALL)


@override_settings(ROOT_URLCONF=PAGES, MIDDLEWARE=MIDDLEWARE)
class WebTest(GameTest):
    """Visits of pages by any of `people`; see `get` and `post`.

    Attributes:
        people: accounts by right: "owner", "controller", "builder", "player", "guest".
    """

    _people: ClassVar[dict[str, int]]

    @classmethod
    def build_once(cls, builder: Self) -> None:
        super().build_once(builder)
        accounts = {
            "owner": account_with("Astrid", "Admin"),
            "controller": account_with("Berit", "Builder"),
            "builder": account_with("Bo", "Builder"),
            "player": account_with("Pia", "Player"),
            "guest": account_with("Gast", "Guest", "evennia.accounts.accounts.DefaultGuest"),
        }
        cls._people = {who: account.pk for who, account in accounts.items()}

    def setUp(self) -> None:
        super().setUp()
        self.people = {who: AccountDB.objects.get(pk=pk) for who, pk in self._people.items()}
        self.clients: dict[str, Client] = {}
        berit = self.people["controller"]
        self.ada.locks.add(f"ai_control:perm(Admin) or pid({berit.id}) or id({berit.id})")

    def client_of(self, who: str) -> Client:
        """Return the browser of an account in `people`; "anonymous" has no login."""
        if who not in self.clients:
            self.clients[who] = Client(raise_request_exception=False)
            if who != "anonymous":
                self.clients[who].force_login(self.people[who], BACKEND)
        return self.clients[who]

    def address(self, name: str, **path: Any) -> str:
        return reverse(f"{APP_NAME}:{name}", kwargs=path)

    def path_of(self, path: str) -> dict[str, Any]:
        """Return values for the names in a Django path: Ada as the key, others from `NAMES`."""
        named = {name: value for name, value in NAMES.items() if f":{name}>" in path}
        return {**named, **({"key": "Ada"} if ":key>" in path else {})}

    def get(self, name: str, *, who: str = "owner", query: Any = None, **path: Any) -> HttpResponse:
        return self.client_of(who).get(self.address(name, **path), query or {})

    def post(
        self, name: str, form: Any = None, *, who: str = "owner", follow: bool = True, **path: Any
    ) -> HttpResponse:
        client = self.client_of(who)
        return client.post(self.address(name, **path), form or {}, follow=follow)

    def walk(self, name: str, query: str, **path: Any) -> list[str]:
        """Return the words of a page and of all the older ones that its links lead to."""
        shown = []
        while query:
            response = self.client_of("owner").get(self.address(name, **path) + query)
            shown.append(text_of(response))
            parts = response.content.decode().partition('">Older</a>')
            query = html.unescape(parts[0].rpartition('href="')[2]) if parts[1] else ""
        return shown


def text_of(response: HttpResponse) -> str:
    body = TAGS.sub(" ", response.content.decode())
    return " ".join(html.unescape(body).split())


class _Forms(HTMLParser):
    """Collects the fields of all forms of a page, by the form's address."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: dict[str, dict[str, str]] = {}
        self._form: dict[str, str] = {}
        self._area = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        name = given.get("name") or ""
        if tag == "form":
            self._form = self.found.setdefault(given.get("action") or "", {})
        elif tag == "textarea":
            self._area, self._form[name] = name, ""
        elif tag == "input" and name and given.get("type") not in ("checkbox", "radio", "file"):
            value = given.get("value") or ""
            is_hidden = given.get("type") == "hidden"
            # A browser takes line breaks out of a line that is shown.
            self._form[name] = value if is_hidden else re.sub(r"[\r\n]", "", value)

    def handle_data(self, data: str) -> None:
        """Take the text of a text area, without the line break that it begins with."""
        if self._area:
            self._form[self._area] = (self._form[self._area] + data).removeprefix("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            self._area = ""


def form_of(response: HttpResponse, end: str) -> dict[str, str]:
    """Return the fields of the form whose address ends so, as a browser would send them."""
    forms = _Forms()
    forms.feed(response.content.decode())
    (fields,) = (form for address, form in forms.found.items() if address.endswith(end))
    return {name: text for name, text in fields.items() if name != "csrfmiddlewaretoken"}


class _Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def intruders(response: HttpResponse) -> list[tuple[str, dict[str, str | None]]]:
    """Return the elements of a page that no template has: injected by a text."""
    elements = _Elements()
    elements.feed(response.content.decode())
    return [(tag, attributes) for tag, attributes in elements.found if _is_foreign(tag, attributes)]


def _is_foreign(tag: str, attributes: dict[str, str | None]) -> bool:
    leads_to = str(attributes.get("href") or attributes.get("src") or "/")
    if tag in ("iframe", "img", "style", "object", "i"):
        return True
    # Our scripts are files, and our charts have a role or are hidden from screen readers.
    is_unlike_ours = (tag == "script" and "src" not in attributes) or (
        tag == "svg" and not {"role", "aria-hidden"} & attributes.keys()
    )
    is_away = leads_to.startswith("//") or not leads_to.startswith(("/", "?", "#"))
    return is_unlike_ours or is_away or any(name.startswith("on") for name in attributes)
