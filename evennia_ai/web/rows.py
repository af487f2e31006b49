"""The rows that define pages, buttons and downloads: address, right, and a function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.urls import reverse
from twisted.internet.defer import Deferred

from evennia_ai.core.typed_objects import Account
from evennia_ai.operations import AssistantScript, Result
from evennia_ai.operations.rights.private_words import PrivateView

APP_NAME = "evennia_ai_web"
ONE = "assistants/<str:key>/"
REVEAL = "reveal"


@dataclass(slots=True)
class Visit:
    """A request to a page or a button, in the game's thread.

    Attributes:
        account: the visitor, who has the right that the row needs.
        script: the assistant in the path; None if there is none.
        look: the view of private words: masked, unless "reveal" was pressed.
        query: the parameters of the query string.
        form: the fields of the form, in a POST.
        files: uploaded files, by the name of the field.
        path: the parameters in the path.
        result: of an action that was refused or only looked, for the page that shows its form
            again.
    """

    account: Account
    script: Any
    look: PrivateView
    query: Mapping[str, str]
    form: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, UploadedFile] = field(default_factory=dict)
    path: Mapping[str, Any] = field(default_factory=dict)
    result: Result | None = None

    @property
    def assistant(self) -> AssistantScript:
        """The assistant in the path, in rows that have one."""
        script: AssistantScript = self.script
        return script

    @property
    def by(self) -> str:
        """The account's name, for the audit log."""
        return str(self.account.key)


def page_address(name: str, **path: Any) -> str:
    """The address of a page or a button.

    Args:
        path: the parameters in its path.
    """
    return str(reverse(f"{APP_NAME}:{name}", kwargs=path))


Shown = Mapping[str, Any]
"""Plain values for a template: no object of the game, which a web thread must not touch."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page.

    Attributes:
        path: the path below the workbench's address, in Django's syntax.
        name: the name of the path, and of the template `evennia_ai/<name>.html`.
        title: its heading, and its name in the menu.
        act: the right, a name in `operations.rights.acts.ACTS`; "" if any account may see it.
        show: returns the template's context; called in the game's thread.
        in_menu: it is in the menu of the site, or of its assistant.
        is_long: it waits for a model or a tool.
        otherwise: the page that visitors without the right are sent to; "" refuses them.
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
        """True if it is about one assistant."""
        return "<str:key>" in self.path


@dataclass(frozen=True, slots=True)
class Action:
    """A button and its function.

    Attributes:
        path: the path below the workbench's address.
        name: the name of the path.
        page: the name of its page, which is shown again after a refusal, and visited after success.
        act: the right, as for a page.
        do: the function, called in the game's thread; the page shows its message.
        is_long: it waits for a model or a tool.
        goes_to: the page to visit after success, or a function that returns its address; "" for
            the button's own.
        is_look: it changes nothing: the page is rendered with its outcome, and keeps the form.
    """

    path: str
    name: str
    page: str
    act: str
    do: Callable[[Visit], Result | Deferred[Result]]
    is_long: bool = False
    goes_to: str | Callable[[Visit, Result], str] = ""
    is_look: bool = False


@dataclass(frozen=True, slots=True)
class File:
    """A file to download.

    Attributes:
        name: the file name: letters, digits, `.` and `-`.
        media: its media type.
    """

    name: str
    content: bytes
    media: str = "application/json"


@dataclass(frozen=True, slots=True)
class Download:
    """A link or a button that downloads a file.

    A POST with "reveal" includes private words and is recorded, as on a page.

    Attributes:
        path: the path below the workbench's address.
        name: the name of the path.
        page: the name of its page, which is shown if there is no file.
        act: the right, as for a page.
        give: makes the file; called in the game's thread.
        is_long: it reads a whole assistant.
    """

    path: str
    name: str
    page: str
    act: str
    give: Callable[[Visit], Result[File] | Deferred[Result[File]]]
    is_long: bool = False
