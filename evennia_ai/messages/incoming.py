"""From Evennia's messages to `Heard`, by what the server passed along and never by the text.

The kind of a message, its sender, and whether an assistant made it are read from keyword arguments
first, then from the options beside the text, then from a stored page. Text is only ever cut out of
a line, never believed.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

from evennia.accounts.models import AccountDB
from evennia.comms.models import ChannelDB, Msg
from evennia.objects.models import ObjectDB
from evennia.utils.utils import make_iter, to_str

from evennia_ai.core.hearing.perception import Evidence, Heard, Source
from evennia_ai.core.text.characters import few_marks
from evennia_ai.core.typed_objects import Account, Being, Channel, GameObject
from evennia_ai.messages.lines import cut_name, cut_speech, plain, without_emote
from evennia_ai.runtime import names
from evennia_ai.runtime.turns import CHAINS

ASSISTANT_MARK = "assistant_message"
HOPS_MARK = "assistant_hops"
GRANTED_MARK = "assistant_hops_granted"
CHAIN_MARK = "assistant_chain"
SPEECH_MARK = "speech"
NOTICE = "ai_notice"
PAGE_IS_FRESH_SECONDS = 10.0  # an older stored page is not the one that just came
# Characters, to protect memory; the limit on a message's length applies later, in hearing.
MOST_HEARD = 100_000
MOST_OF_THE_GAME = 2000  # characters of a line without a sender, as of a command's output

_SOURCES = {
    "say": Source.SAY,
    "whisper": Source.WHISPER,
    "page": Source.PAGE,
    "pose": Source.POSE,
    "emote": Source.POSE,
    "move": Source.MOVE,
    "traverse": Source.MOVE,
    "teleport": Source.MOVE,
    "give": Source.MOVE,
    "drop": Source.MOVE,
    "get": Source.MOVE,
}
_QUOTED = frozenset((Source.SAY, Source.WHISPER))
_NO_MARKS: Mapping[str, Any] = {}


class _Reading(NamedTuple):
    """The last message read; a message to a room reaches all who are in it with the same objects.

    Attributes:
        options: the options object itself, which all recipients of a message share.
        marked: a copy of what was in it.
        account: primary key of the account behind the sender, or None.
    """

    rendered: str
    options: Any
    marked: Any
    sender: object
    account: int | None
    heard: Heard | None


# Who speaks by a way of the game's own, and the options that such a way cannot carry.
_speaking: ContextVar[tuple[Any, Mapping[str, Any]]] = ContextVar(
    "speaking", default=(None, _NO_MARKS)
)
_newest = _Reading("", None, None, object(), None, None)


def marks(kind: str, hops: int, **more: Any) -> dict[str, Any]:
    """The options that the server sends with a message of an assistant.

    Args:
        more: further options; they cannot replace these.
    """
    return {**more, "type": kind, ASSISTANT_MARK: True, HOPS_MARK: hops}


@contextmanager
def speaking(speaker: GameObject, options: Mapping[str, object]) -> Iterator[None]:
    """Let everything that a body sends within the block count as sent with these options.

    For ways of the game's own to send something, which take no options.
    """
    token = _speaking.set((speaker, options))
    try:
        yield
    finally:
        _speaking.reset(token)


def notice(line: str) -> tuple[str, dict[str, Any]]:
    """A line for a player who watches through an assistant's body; the assistant ignores it."""
    return line, {"type": NOTICE}


def sender_of(from_obj: object) -> Any:
    """The sender of a message, or None."""
    if not from_obj:
        return None
    # Evennia passes an object, a list of them, or (its RSS bot) the id of an account.
    sender = next(iter(make_iter(from_obj)))
    if isinstance(sender, int) and not isinstance(sender, bool):
        return AccountDB.objects.filter(id=sender).first()
    return sender if getattr(sender, "pk", None) is not None else None


def id_of(being: Being) -> str:
    """The id of an object, "#12", or of an account, "*#3": the two are numbered separately."""
    return f"*{being.dbref}" if isinstance(being, AccountDB) else str(being.dbref)


def person_of(being: Being) -> str:
    """The id of a being's player, else its own: all characters of a player are one person."""
    account = getattr(being, "account", None)
    return id_of(account if account is not None else being)


def face_of(being: Being, looker: Being | None) -> str:
    """The person that an observer takes a being for: its player, or somebody in a mask."""
    return names.mask_of(being, looker) or person_of(being)


def find_being(being_id: str) -> Any:
    """The object ("#12") or account ("*#3") of an id, or None when it was deleted.

    For a mask ("#12~1a2b3c4d") it is the one who wore it: for the game and its staff only.
    """
    model = AccountDB if being_id.startswith("*") else ObjectDB
    number = being_id.partition("~")[0].lstrip("*#")
    if not number.isdecimal():
        return None
    # Nearly always in Evennia's identity map, which saves a query for each message.
    known = model.get_cached_instance(int(number))
    return known if known is not None else model.objects.filter(id=number).first()


def key_of(being_id: str, gone: str | None = None) -> str:
    """The key of the being of an id; `gone`, or else the id itself, where it was deleted."""
    being = find_being(being_id)
    return str(being.key) if being is not None else being_id if gone is None else gone


def _as_hops(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def read(
    text: object, from_obj: object, listener: Being, kwargs: Mapping[str, object] | None = None
) -> Heard | None:
    """Read what a listener was sent; a message to a room is read once for all who are in it.

    Args:
        text: a string, or the pair (string, options) of Evennia's messages.
        from_obj: the sender; None is the game itself.
        kwargs: what else the server passed along; takes precedence over the options.

    Returns:
        What was heard, or None when it has no words.
    """
    global _newest
    rendered, options, marked, sender, account, heard = _newest
    # Everything that the result depends on must be the same; the cheap comparisons come first.
    is_plain = from_obj is not listener and (not kwargs or len(kwargs) == 1)
    if (
        from_obj is sender
        and is_plain
        and isinstance(text, tuple)
        and len(text) == 2
        and text[1] is options
        and text[0] == rendered
        and options == marked
        and getattr(sender, "id", None) is not None
        and getattr(sender, "db_account_id", None) == account
        and _speaking.get()[0] is None
    ):
        return heard
    heard = _read(text, from_obj, listener, kwargs)
    if is_plain and isinstance(text, tuple) and heard and _is_same_for_all(text, from_obj):
        account = getattr(from_obj, "db_account_id", None)
        _newest = _Reading(text[0], text[1], dict(text[1]), from_obj, account, heard)
    return heard


def _is_same_for_all(text: Sequence[object], from_obj: object) -> bool:
    """True where the result does not depend on the listener, as on a name that only it sees."""
    if len(text) != 2 or not isinstance(text[1], Mapping):
        return False
    if not names.is_alike_for_all(from_obj) or _speaking.get()[0] is not None:
        return False
    name = getattr(from_obj, "db_key", "")
    return bool(name) and "from_channel" not in text[1] and str(text[0]).startswith(name)


def _read(
    text: object, from_obj: object, listener: Being, kwargs: Mapping[str, object] | None
) -> Heard | None:
    rendered, options = _unpacked(text)
    if not rendered or options.get("type") == NOTICE:
        return None
    if not from_obj:
        return _from_game(rendered)
    marked = {**options, **kwargs} if kwargs and len(kwargs) > 1 else options
    sender = sender_of(from_obj)
    speaker, more = _speaking.get()
    if more and sender == speaker:
        marked = {**marked, **more}
    if sender is None:
        return None
    if "from_channel" in marked:
        return _read_formatted_channel(rendered, marked, sender, listener)
    kind = marked.get("type")
    source = _SOURCES.get(kind) if isinstance(kind, str) else None
    rendered = names.as_others_see(rendered, listener, is_pose=source is Source.POSE)
    if source is None and sender == listener:
        return _from_game(rendered)  # Evennia's commands answer with the typist as sender
    evidence = Evidence.KWARGS if kwargs and "type" in kwargs else Evidence.OOB
    if source is None:
        source, evidence = Source.EMIT, Evidence.NONE
    body = _body(rendered, marked, source, sender, listener)
    return _heard(body, source, sender, marked, evidence, listener) if body else None


def _unpacked(text: object) -> tuple[str, Mapping[str, Any]]:
    """The text and the options of a message, empty where there are none."""
    rendered, options = text, None
    if isinstance(text, (tuple, list)) and text:
        rendered, options = text[0], text[1] if len(text) > 1 else None
    # Evennia makes a string of anything that is sent, such as a table, only after this.
    words = "" if rendered is None else to_str(rendered)
    return words, options if isinstance(options, Mapping) else {}


def _from_game(rendered: str) -> Heard | None:
    body = plain(rendered).strip()[:MOST_OF_THE_GAME]
    return Heard(body, Source.SYSTEM, evidence=Evidence.OOB) if body else None


def _body(
    rendered: str, marked: Mapping[str, object], source: Source, sender: Being, listener: Being
) -> str:
    """The speech of a message: from the option that holds it, else cut out of the line."""
    # Where the option's words are not in the line, the line was altered for this listener, as in a
    # language that it does not know, and only the line counts.
    option = marked.get(SPEECH_MARK)
    if isinstance(option, str):
        words = plain(option).strip()
        if source not in _QUOTED or words in plain(rendered):
            return words
    if source in (Source.MOVE, Source.EMIT, Source.PAGE):
        return plain(rendered).strip()
    name = names.name_of(sender, listener)
    if source not in _QUOTED:
        return cut_name(rendered, name)
    speech = cut_speech(rendered, name)
    return without_emote(speech) if names.has_description(sender) else speech


def _heard(
    body: str,
    source: Source,
    sender: Being,
    marked: Mapping[str, object],
    evidence: Evidence,
    listener: Being,
    place: str = "",
) -> Heard:
    on_channel = source is Source.CHANNEL
    is_assistant = marked.get(ASSISTANT_MARK) is True
    # Only from assistants: nobody else may say who pays for what comes of a message.
    chain = CHAINS.get(marked.get(CHAIN_MARK)) if is_assistant else None
    cut = body if len(body) <= MOST_HEARD else body[: MOST_HEARD - 1] + "…"
    return Heard(
        body=few_marks(cut),
        source=source,
        sender_id=id_of(sender),
        sender_name=(names.name_on_channel if on_channel else names.name_of)(sender, listener),
        person=person_of(sender),
        mask="" if on_channel else names.mask_of(sender, listener),
        place=place,
        from_assistant=is_assistant,
        hops=_as_hops(marked.get(HOPS_MARK)),
        hops_granted=_as_hops(marked.get(GRANTED_MARK)),
        chain=chain.id if chain else "",
        begun_by=chain.person if chain else "",
        is_relayed=bool(getattr(sender, "is_bot", False)),
        evidence=evidence,
    )


def read_channel(
    message: str, channel: Channel, senders: object, kwargs: Mapping[str, object], listener: Being
) -> Heard | None:
    """Read what a channel passed to its listeners' hooks, before it was formatted for anybody.

    Args:
        senders: as given to `Channel.msg`; without any it is the game's own announcement.
    """
    sender = sender_of(senders)
    body = plain(str(message)).strip()[:MOST_HEARD]
    if body and sender is None and kwargs.get("relayed"):
        # Evennia's Discord bot names no sender, so all who speak through it count as one person.
        person, name = f"relay of {channel.key}", "a relay"
        return Heard(
            body,
            Source.CHANNEL,
            sender_name=name,
            person=person,
            place=channel.key,
            is_relayed=True,
            evidence=Evidence.KWARGS,
        )
    if sender is None or not body:
        return None
    return _heard(body, Source.CHANNEL, sender, kwargs, Evidence.KWARGS, listener, channel.key)


def _read_formatted_channel(
    rendered: str, marked: Mapping[str, object], sender: Being, listener: Being
) -> Heard | None:
    """Read a channel's line that came formatted as for a client: `[Public] Tom: hello`."""
    number = marked["from_channel"]
    channel = ChannelDB.objects.filter(id=number).first() if isinstance(number, int) else None
    if channel is None:
        return None
    line = plain(rendered)
    prefix = plain(channel.channel_prefix())
    line = line[len(prefix) :] if line.startswith(prefix) else line
    body = cut_name(line, names.name_on_channel(sender, listener)).removeprefix(":").strip()
    if not body:
        return None
    return _heard(body, Source.CHANNEL, sender, marked, Evidence.OOB, listener, channel.key)


def read_page(text: object, account: Account) -> Heard | None:
    """Read a page of Evennia's: a bare line to an account, whose sender only the stored page names.

    Returns:
        What was heard, or None when no page of the last ten seconds has the same words.
    """
    rendered = text[0] if isinstance(text, (tuple, list)) and text else text
    if not isinstance(rendered, str):
        return None
    page = (
        Msg.objects.get_messages_by_receiver(account)
        .filter(db_tags__db_key="page", db_tags__db_category="comms")
        .order_by("-id")
        .first()
    )
    if page is None or time.time() - page.date_created.timestamp() > PAGE_IS_FRESH_SECONDS:
        return None
    sender = next(iter(page.senders), None)
    # Of two pages at once the newest may not be the one of this line.
    if sender is None or not rendered.rstrip().endswith(page.message.rstrip()):
        return None
    body = plain(page.message).strip()
    return _heard(body, Source.PAGE, sender, {}, Evidence.RECORD, account) if body else None
