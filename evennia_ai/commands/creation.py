"""The menu that creates an assistant step by step. Nothing is stored before its last step.

The menu is only in memory: a reload ends it, and so does the caller's leaving the game. It says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from evennia.server.signals import SIGNAL_ACCOUNT_POST_LAST_LOGOUT, SIGNAL_OBJECT_POST_UNPUPPET
from evennia.utils.evmenu import EvMenu
from twisted.python.failure import Failure

from evennia_ai.commands.creation_draft import CALLED, Draft, doubt, doubt_model, make
from evennia_ai.commands.tables import CHECK_FAILED, report_lines
from evennia_ai.core.text.cleaning import strip_control
from evennia_ai.core.typed_objects import Being, GameObject
from evennia_ai.errors import ConfigurationError
from evennia_ai.messages.lines import literal
from evennia_ai.operations import naming
from evennia_ai.operations.assistants import creation
from evennia_ai.operations.assistants.creation import check_body
from evennia_ai.operations.models import choosing
from evennia_ai.operations.models.choosing import Report
from evennia_ai.operations.rights import refusal

LONGEST_LOOK, LONGEST_PERSONA = 2000, 4000
# Not SIGNAL_ACCOUNT_POST_LOGOUT: in Evennia, guests cannot log out while it has a receiver.
LEFT = (SIGNAL_OBJECT_POST_UNPUPPET, SIGNAL_ACCOUNT_POST_LAST_LOGOUT)
STEPS = ("name", "body", "look", "character", "place", "listening", "model", "summary")
NUMBERS = {step: number for number, step in enumerate(STEPS, 1)}
EXPLAINED = (
    "Nothing is created before the last step. Type quit to leave; a reload or leaving the game "
    "ends this too."
)
WAY_OUT = "(type quit to leave; use other commands afterwards)"
Node = tuple[str, list[dict[str, Any]] | None]


class CreationMenu(EvMenu):
    """The menu, with the choices so far in `draft`. It ends when the caller leaves the game."""

    draft: Draft

    def watch(self) -> None:
        """Connect signals that end the menu when the caller unpuppets or logs out."""
        for signal in LEFT:
            signal.connect(self._on_left)

    def _on_left(self, sender: object, session: object = None, **kwargs: Any) -> None:
        if sender is self.caller and (session is self._session or not sender.sessions.count()):
            self.close_menu()

    def close_menu(self) -> None:
        """End the menu."""
        for signal in LEFT:
            signal.disconnect(self._on_left)
        super().close_menu()


def open_creation(caller: Being, session: object = None) -> None:
    """Open the menu if the caller may create assistants; otherwise say what is missing."""
    refused = refusal("create", caller)
    if refused is not None:
        caller.msg(literal(refused.message))
        return
    nodes = {
        "name": _name,
        "body": _body,
        "look": _look,
        "character": _character,
        "place": _place,
        "listening": _listening,
        "model": _model,
        "summary": _summary,
        "end": _end,
    }
    draft = Draft(room=getattr(caller, "location", None))
    menu = CreationMenu(
        caller, nodes, startnode="name", cmd_on_exit=_closed, session=session, draft=draft
    )
    menu.watch()


def _closed(caller: Being, menu: CreationMenu) -> None:
    if not menu.draft.is_made:
        _tell(caller, "Nothing was created.")


def _draft(caller: Being) -> Draft:
    draft: Draft = caller.ndb._evmenu.draft
    return draft


def _tell(caller: Being, text: str) -> None:
    caller.msg(literal(text))


def _node(step: str, text: str, *options: dict[str, Any], default: object = None) -> Node:
    """Build a step from its title, text and options, and add the option to go back."""
    number = NUMBERS[step]
    choices = [*options]
    if number > 1:
        choices.append({"key": ("back", "b"), "desc": "the step before", "goto": STEPS[number - 2]})
    if default is not None:
        choices.append({"key": "_default", "goto": default})
    title = f"A new assistant, {number} of {len(STEPS)}  {WAY_OUT}"
    return f"{title}\n\n{literal(text)}", choices


def _typed(raw: str) -> str:
    """Clean an input to a single line, as all other commands give it."""
    return " ".join(strip_control(raw).split())


# ---- the steps ---------------------------------------------------------------------------------


def _name(caller: Being) -> Node:
    draft = _draft(caller)
    now = f" Now: {draft.name}; an empty line keeps it." if draft.name else ""
    return _node("name", f"{EXPLAINED}\n\nWhat is it called?{now}", default=_take_name)


def _take_name(caller: Being, raw_string: str) -> str:
    draft, typed = _draft(caller), _typed(raw_string)
    if not typed and draft.name:
        return "body"
    name, _, typeclass = typed.partition(":")
    checked, path = naming.check_name(name), typeclass.strip()
    body = check_body(path) if checked.ok and path else None
    problem = "" if checked.ok else checked.message
    if body is not None and not body.ok:
        problem = body.message
    if problem := problem or doubt(draft, typed):
        _tell(caller, problem)
        return "name"
    draft.name, draft.typeclass = checked.data, path or draft.typeclass
    return "body"


def _body(caller: Being) -> Node:
    draft = _draft(caller)
    own = {"key": ("own", "1"), "desc": draft.OWN_CLASS, "goto": (_take_body, {"typeclass": ""})}
    question = (
        f"Which class should {draft.name}'s body have? Type the path of one of your game's "
        "classes, such as "
        f"typeclasses.golems.Golem.\n\nNow: {draft.body}\nAn empty line keeps it."
    )
    return _node("body", question, own, default=_take_body)


def _take_body(caller: Being, raw_string: str, **kwargs: Any) -> str:
    draft, typed = _draft(caller), kwargs.get("typeclass", _typed(raw_string))
    if not typed:
        # The option "own" resets the class; an empty line keeps what was chosen before.
        draft.typeclass = typed if "typeclass" in kwargs else draft.typeclass
        return "look"
    checked = check_body(typed)
    if not checked.ok:
        _tell(caller, checked.message)
        return "body"
    draft.typeclass = typed
    return "look"


def _text_node(step: str, question: str, now: str, empty: str, default: object) -> Node:
    keep = f"Now: {now}\nAn empty line keeps it." if now else f"An empty line: {empty}."
    return _node(step, f"{question}\n\n{keep}", default=default)


def _take_text(field: str, longest: int, following: str) -> Callable[[Any, str], str | None]:
    """The handler of a step with a text: stores it and returns the next step."""

    # Returning None makes EvMenu repeat the step.
    def take(caller: Being, raw_string: str) -> str | None:
        typed = _typed(raw_string)
        if len(typed) > longest:
            _tell(caller, f"That has {len(typed)} characters; at most {longest} are allowed.")
            return None
        if typed and (problem := doubt(_draft(caller), typed)):
            _tell(caller, problem)
            return None
        if typed:
            setattr(_draft(caller), field, typed)
        return following

    return take


def _look(caller: Being) -> Node:
    draft = _draft(caller)
    question = f"What do people see when they look at {draft.name}?"
    empty = f"{draft.name} is an assistant, an AI"
    take = _take_text("look", LONGEST_LOOK, "character")
    return _text_node("look", question, draft.look, empty, take)


def _character(caller: Being) -> Node:
    draft = _draft(caller)
    question = (
        f"Who is {draft.name}, in two sentences? The model reads this, so also say what "
        f"{draft.name} knows and how {draft.name} talks, such as: {draft.name} copies old "
        "charts, loves a good riddle, and is short of words."
    )
    empty = "a friendly character without a story"
    take = _take_text("persona", LONGEST_PERSONA, "place")
    return _text_node("character", question, draft.persona, empty, take)


def _place(caller: Being) -> Node:
    draft, here = _draft(caller), getattr(caller, "location", None)
    options: list[dict[str, Any]] = []
    if here is not None:
        chosen = {"goto": _take_here, "desc": literal(f"in {here.key}")}
        options.append({"key": ("here", "1"), **chosen})
    now = f" Now: {draft.room.key}; an empty line keeps it." if draft.has_room else ""
    question = f"Where does {draft.name} stand? Type a room's name, or its number such as #2.{now}"
    return _node("place", question, *options, default=_take_place)


def _take_here(caller: GameObject) -> str:
    return _take_place(caller, getattr(caller.location, "dbref", ""))


def _take_place(caller: Being, raw_string: str) -> str:
    draft, typed = _draft(caller), _typed(raw_string)
    if not typed and draft.has_room:
        return "listening"
    result = creation.find_room(caller, typed)
    if not result.ok:
        _tell(caller, result.message)
        return "place"
    draft.room = result.data
    return "listening"


def _listening(caller: Being) -> Node:
    draft = _draft(caller)
    text = (
        f"Who gets an answer from {draft.name}?\n\n"
        "Or type a permission, such as Builder: people who have it need not say the name."
    )
    options: tuple[tuple[tuple[str, str], str, dict[str, Any]], ...] = (
        (("called", "1"), CALLED.format(name=draft.name), {}),
        (("everybody", "2"), "also all that is said in the room", {"answers_all": True}),
    )
    rows = [
        {"key": key, "desc": literal(desc), "goto": (_take_listening, choice)}
        for key, desc, choice in options
    ]
    return _node("listening", text, *rows, default=_take_permission)


def _take_listening(caller: Being, raw_string: str, **kwargs: Any) -> str:
    draft = _draft(caller)
    draft.answers_all, draft.permission = bool(kwargs.get("answers_all")), ""
    return "model"


def _take_permission(caller: Being, raw_string: str) -> str:
    draft, typed = _draft(caller), _typed(raw_string)
    checked = creation.check_permission(typed, caller)
    if not checked.ok:
        _tell(caller, checked.message)
        return "listening"
    draft.answers_all, draft.permission = False, checked.data
    return "model"


def _model(caller: Being) -> Node:
    known = choosing.known_models()
    rows = known.data if known.ok else []
    options: list[dict[str, Any]] = [
        {"key": str(number), "desc": literal(row.text), "goto": (_take_model, asdict(row))}
        for number, row in enumerate(rows, 1)
    ]
    options.append({"key": ("test", "t"), "desc": "try it now", "goto": _test})
    options.append({"key": ("next", "n"), "desc": "the last step", "goto": "summary"})
    chosen = f"Now: {_draft(caller).model_text}."
    problem = "" if known.ok else f"\n\n{known.message}"
    text = (
        f"Which model should {_draft(caller).name} use? {chosen}\n\nOr type a provider and a "
        f"model's name, such as: ollama llama3.2{problem}"
    )
    return _node("model", text, *options, default=_type_model)


def _take_model(caller: Being, raw_string: str, **kwargs: Any) -> str:
    draft = _draft(caller)
    draft.provider, draft.model = str(kwargs["provider"]), str(kwargs["model"])
    draft.model_text, draft.is_tried = str(kwargs["text"]), False
    return "model"


def _type_model(caller: Being, raw_string: str) -> str:
    typed = _typed(raw_string)
    if not typed:
        return "summary"
    chosen = choosing.choose_model(typed)
    problem = chosen.message
    if chosen.ok:
        # With a provider in front, it is surely meant as a model.
        judge = doubt if chosen.data.provider else doubt_model
        problem = judge(_draft(caller), typed)
    if problem:
        _tell(caller, problem)
        return "model"
    return _take_model(caller, raw_string, **asdict(chosen.data))


def _test(caller: Being) -> str:
    """Test the model in the background. The menu goes on, and shows the report when it comes."""
    draft = _draft(caller)
    if draft.is_testing:
        _tell(caller, "The model is already being asked.")
        return "model"
    try:
        checked = choosing.check_chosen(draft.provider, draft.model)
    except ConfigurationError as error:
        _tell(caller, f"The model is not set up: {error}")
        return "model"
    draft.is_testing, tried = True, (draft.provider, draft.model)
    _tell(caller, "Asking the model; you can go on meanwhile.")

    def done(outcome: object) -> Any:
        draft.is_testing = False
        # Another model may have been chosen during the test.
        is_same = tried == (draft.provider, draft.model)
        draft.is_tried = is_same and isinstance(outcome, Report) and outcome.ok
        return outcome

    def fail(failure: Failure) -> None:
        _tell(caller, f"{CHECK_FAILED}: {failure.getErrorMessage()}")
        failure.raiseException()

    wrong = "Fix what says NO, or choose another."
    checked.addBoth(done)
    checked.addCallbacks(lambda report: _tell(caller, "\n".join(report_lines(report, wrong))), fail)
    return "model"


def _summary(caller: Being) -> Node:
    options = [{"key": ("create", "yes", "y"), "desc": "make it so", "goto": _create}]
    options += [
        {"key": str(number), "desc": f"change: {step}", "goto": step}
        for step, number in NUMBERS.items()
        if step != "summary"
    ]
    return _node("summary", _draft(caller).summary(), *options)


def _create(caller: Being) -> Any:
    result, again = make(caller, _draft(caller))
    if again:
        _tell(caller, result.message)
        return again
    return "end", {"text": result.message}


def _end(caller: Being, raw_string: str, **kwargs: Any) -> Node:
    return literal(kwargs["text"]), None
