"""The page that creates assistants: by a form, from a card, as a copy, or in an existing being."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from hashlib import sha256
from time import monotonic

from evennia_ai import operations
from evennia_ai.core.cards.character_card import MOST_BYTES
from evennia_ai.core.typed_objects import GameObject
from evennia_ai.operations import Result
from evennia_ai.operations.assistants import creation, lifecycle
from evennia_ai.operations.files import cards
from evennia_ai.operations.models import prompts
from evennia_ai.operations.rights import is_allowed, refusal
from evennia_ai.runtime.rights import name_before
from evennia_ai.web.fields import at_field, clean
from evennia_ai.web.pages.looks import to_live_page
from evennia_ai.web.rows import Action, Page, Shown, Visit, page_address

# A browser does not send a file twice, so uploads are held between preview and confirmation: in
# memory only, one per account, a few in all. After that the file has to be uploaded again.
MOST = 4
KEPT_SECONDS = 900.0


@dataclass(frozen=True, slots=True)
class Upload:
    """A file, and when it was uploaded (monotonic clock)."""

    content: bytes
    at: float


_UPLOADS: OrderedDict[int, Upload] = OrderedDict()


def save_upload(account: int, content: bytes) -> str:
    """Keep a file for an account, in place of its previous one.

    Args:
        account: primary key of the account.

    Returns:
        The mark by which the file is found again.
    """
    _UPLOADS.pop(account, None)
    _UPLOADS[account] = Upload(content, monotonic())
    while len(_UPLOADS) > MOST:
        _UPLOADS.popitem(last=False)
    return _mark(content)


def find_upload(account: int, mark: str) -> bytes | None:
    """Find the account's file by its mark; None if it is not held any more."""
    now = monotonic()
    for each in [key for key, past in _UPLOADS.items() if now - past.at > KEPT_SECONDS]:
        del _UPLOADS[each]
    upload = _UPLOADS.get(account)
    return upload.content if upload is not None and _mark(upload.content) == mark else None


def _mark(content: bytes) -> str:
    # Of the contents: a form that is still open must not confirm a file that was uploaded later.
    return sha256(content).hexdigest()


CARD, FILE = "card", "file"
CARD_GONE = "The card is no longer here; choose its file again."


def _show(visit: Visit) -> Shown:
    known = [
        (str(script.key), name_before(script, visit.account))
        for script in operations.list_assistants()
        if is_allowed("clone", visit.account, script)
    ]
    form = visit.form
    return {
        "location": form.get("location", _visitors_room(visit)),
        "templates": prompts.game_templates(),
        "copied": known,
        "may_adopt": is_allowed("adopt", visit.account),
        "persona": clean(form.get("persona", "")),
        "desc": clean(form.get("desc", "")),
        "card": _card_shown(visit),
        "most": MOST_BYTES // (1024 * 1024),
    }


def _visitors_room(visit: Visit) -> str:
    """The dbref of the room where the visitor's character is; "" if there is none."""
    puppets = visit.account.get_all_puppets()
    place = puppets[0].location if puppets else None
    return str(place.dbref) if place is not None else ""


def _room(visit: Visit) -> Result[GameObject | None]:
    """The room that was typed; None if the field is empty."""
    words = visit.form.get("location", "").strip()
    if not words:
        return Result(True, "", None)
    result = creation.find_room(visit.account, words)
    return result.with_data(result.data) if result.ok else at_field("location", result)


# ---- by a form ---------------------------------------------------------------------------------


def _create(visit: Visit) -> Result:
    form, place = visit.form, _room(visit)
    if not place.ok:
        return place
    template = form.get("template", "")
    result = operations.create_assistant(
        form.get("key", ""),
        location=place.data,
        desc=clean(form.get("desc", "")).strip(),
        persona=clean(form.get("persona", "")).strip(),
        settings={"applied_template": template} if template else None,
        by=visit.by,
        maker=visit.account,
    )
    return result if result.ok else at_field("key", result)


# ---- from a card -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ShownCard:
    """A card, and the mark by which its file is found again."""

    shown: cards.CardShown
    mark: str


def _preview_card(visit: Visit) -> Result[ShownCard]:
    """Show the card in an uploaded file, which is held until the visitor confirms."""
    file = visit.files.get(FILE)
    if file is None:
        return at_field(FILE, Result.invalid("Choose the card's file first: PNG or JSON."))
    # Before it is read, which happens in the game's thread.
    if file.size is None or file.size > MOST_BYTES:
        return at_field(FILE, Result.invalid(f"The file has more than {MOST_BYTES:,} bytes."))
    raw = file.read()
    result = cards.read(raw)
    if not result.ok:
        return at_field(FILE, result)
    preview = cards.show_card(result.data, visit.form.get("card_key", "").strip()).data
    message = f"The card of {result.data.name}; nothing is created yet. Below is what would be."
    return Result(True, message, ShownCard(preview, save_upload(_account_pk(visit), raw)))


def _account_pk(visit: Visit) -> int:
    return int(visit.account.pk or 0)


def _uploaded_card(visit: Visit) -> bytes | None:
    return find_upload(_account_pk(visit), visit.form.get(CARD, ""))


def _card_shown(visit: Visit) -> ShownCard | None:
    """The card that was just uploaded, or whose confirmation was refused."""
    if visit.result is not None and isinstance(visit.result.data, ShownCard):
        return visit.result.data
    raw = _uploaded_card(visit)
    result = cards.read(raw) if raw is not None else None
    if result is None or not result.ok:
        return None
    key = visit.form.get("card_key", "").strip()
    return ShownCard(cards.show_card(result.data, key).data, visit.form.get(CARD, ""))


def _make_of_card(visit: Visit) -> Result:
    raw, place = _uploaded_card(visit), _room(visit)
    if raw is None:
        return at_field(FILE, Result.invalid(CARD_GONE))
    if not place.ok:
        return place
    card = cards.read(raw)
    if not card.ok:
        return at_field(FILE, card)
    result = cards.import_card(
        card.data,
        key=visit.form.get("card_key", "").strip(),
        location=place.data,
        by=visit.by,
        maker=visit.account,
    )
    if result.ok:
        _UPLOADS.pop(_account_pk(visit), None)
    return result if result.ok else at_field("card_key", result)


def _to_made(_visit: Visit, result: Result) -> str:
    return page_address("live", key=result.data.key)


# ---- as a copy, and in a being -----------------------------------------------------------------


def _copy(visit: Visit) -> Result:
    script = operations.find_assistant(visit.form.get("source", ""))
    if script is None:
        return at_field("source", Result.not_found("Choose which assistant is copied."))
    # The button's right is to create; the source is typed, so its right is checked here.
    refused = refusal("clone", visit.account, script)
    if refused is not None:
        return refused
    name = visit.form.get("copy_name", "")
    result = lifecycle.clone_assistant(script, name, by=visit.by, person=visit.account)
    return result if result.ok else at_field("copy_name", result)


def _adopt(visit: Visit) -> Result:
    result = operations.find_npc(visit.account, visit.form.get("npc", ""))
    if not result.ok:
        return at_field("npc", result)
    name = visit.form.get("adopted_key", "").strip()
    return operations.adopt(result.data, name, person=visit.account, by=visit.by)


PAGES = (Page("make/", "make", "Make", "create", _show),)
ACTIONS = (
    Action("make/create/", "create", "make", "create", _create, goes_to=to_live_page),
    Action("make/card/look/", "look-at-card", "make", "create", _preview_card, is_look=True),
    Action("make/card/", "make-of-card", "make", "create", _make_of_card, goes_to=_to_made),
    Action("make/copy/", "copy", "make", "create", _copy, goes_to=to_live_page),
    Action("make/adopt/", "adopt", "make", "adopt", _adopt, goes_to=to_live_page),
)
