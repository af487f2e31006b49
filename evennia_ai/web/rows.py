"""Pages and their buttons as rows of tables: address, right, what is shown or done."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.urls import reverse
from twisted.internet.defer import Deferred

from evennia_ai.core.typed_objects import Account
from evennia_ai.operations import AssistantScript, Result
from evennia_ai.operations.rights.private_words import Look

APP_NAME = "evennia_ai_web"
ONE = "assistants/<str:key>/"
REVEAL = "reveal"


@dataclass(slots=True)
class Visit:
    """A request in the game's thread: who looks at what, or does what.

    Attributes:
        account: who asks; it has the right of the row.
        script: the assistant in the address; None where none is in it.
        look: the view of private words: masked, unless "reveal" was pressed.
        query: what stands in the address after `?`.
        form: the fields of the form, where something is done.
        files: what was uploaded, by the field's name.
        path: the names in the address.
        said: the outcome of an action that was refused, or that only looked: its form is shown
            again.
    """

    account: Account
    script: Any
    look: Look
    query: Mapping[str, str]
    form: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, UploadedFile] = field(default_factory=dict)
    path: Mapping[str, Any] = field(default_factory=dict)
    said: Result | None = None

    @property
    def assistant(self) -> AssistantScript:
        """The assistant in the address, where there is one."""
        script: AssistantScript = self.script
        return script

    @property
    def by(self) -> str:
        """The account's name, for the record."""
        return str(self.account.key)


def page_address(name: str, **path: Any) -> str:
    """The address of a page or a button.

    Args:
        path: the names in it.
    """
    return str(reverse(f"{APP_NAME}:{name}", kwargs=path))


Shown = Mapping[str, Any]
"""Plain values for a template: no object of the game, which a web thread must not touch."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page.

    Attributes:
        path: below the workbench's address, as Django writes paths.
        name: of the address, and of the template `evennia_ai/<name>.html`.
        title: its heading, and its name in the menu.
        act: the right it needs, a name in `operations.rights.acts.ACTS`; "": an account is enough.
        show: gives what the template shows; in the game's thread.
        in_menu: it stands in the menu of the site, or of its assistant.
        is_long: a model or a tool is waited for.
        otherwise: the name of the page for whoever may not see this one; "": they are told so.
    """

    path: str
    name: str
    title: str
    act: str
    show: Callable[[Visit], Shown | Deferred[Shown]]
    in_menu: bool = True
    is_long: bool = False
    otherwise: str = ""

    @property
    def is_of_one(self) -> bool:
        """It is about one assistant."""
        return "<str:key>" in self.path


@dataclass(frozen=True, slots=True)
class Action:
    """A button, and its deed.

    Attributes:
        path: below the workbench's address.
        name: of the address.
        page: the name of the page that it stands on: shown again where it is refused, and gone to
            where it is done.
        act: the right it needs, as for a page.
        do: does it, in the game's thread. Its sentence is shown on the page.
        is_long: a model or a tool is waited for.
        goes_to: gives the address to go to where it is done; None: the page's own.
        is_look: nothing is changed: the page is shown with what came of it, and what was typed.
    """

    path: str
    name: str
    page: str
    act: str
    do: Callable[[Visit], Result | Deferred[Result]]
    is_long: bool = False
    goes_to: Callable[[Visit, Result], str] | None = None
    is_look: bool = False


@dataclass(frozen=True, slots=True)
class File:
    """A file that is sent to whoever asks for it.

    Attributes:
        name: under which it is kept there; letters, digits, `.` and `-`.
        media: the type of what is in it.
    """

    name: str
    content: bytes
    media: str = "application/json"


@dataclass(frozen=True, slots=True)
class Download:
    """A link or a button that gives a file.

    A POST of it with "reveal" gives private words too, which is recorded, as on a page.

    Attributes:
        path: below the workbench's address.
        name: of the address.
        page: the name of the page that it stands on: shown where there is no file to be had.
        act: the right it needs, as for a page.
        give: makes the file, in the game's thread.
        is_long: a whole assistant is read.
    """

    path: str
    name: str
    page: str
    act: str
    give: Callable[[Visit], Result[File] | Deferred[Result[File]]]
    is_long: bool = False
