"""The page of an assistant's prompt: preview and editing of its parts, texts and templates."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from urllib.parse import urlencode

from evennia_ai.core.turn.contexts import MAIN_PARTS, ContextType, fields_of
from evennia_ai.operations import AssistantScript, Result
from evennia_ai.operations.models import prompts, shown_prompts, texts
from evennia_ai.operations.models.texts import TextDifference
from evennia_ai.operations.rights import is_allowed
from evennia_ai.operations.settings.rows import row_of
from evennia_ai.web import edits
from evennia_ai.web.fields import clean, field_of
from evennia_ai.web.forms import whole_number_in
from evennia_ai.web.pages.settings import set_settings
from evennia_ai.web.rows import ONE, Action, Page, Shown, Visit, page_address

# The key of the tools' schemas among the token counts of components, which are keyed by number.
TOOLS = -1


# ---- looking -----------------------------------------------------------------------------------


def _show(visit: Visit) -> Shown:
    script, context = visit.assistant, _context_of(visit)
    sizes = shown_prompts.show_prompt(script, visit.account, context=context)
    result, templates = prompts.list_components(script), prompts.list_templates(script)
    tokens = sizes.data.get("tokens", {}) if sizes.ok else {}
    components = result.data if result.ok else []
    return {
        "key": str(script.key),
        "context": context,
        "contexts": [(str(each), _changed(script, each)) for each in ContextType],
        "is_inner": ContextType(context) in MAIN_PARTS,
        "parts": [_part(row, tokens) for row in components],
        "problem": "" if result.ok else result.message,
        "templates": templates.data if templates.ok else [],
        "texts": [_text(script, what) for what in texts.OF_SETTINGS],
        "preview": _preview(visit, context, sizes),
        "fields": [field_of(row_of(script, keys), visit) for keys in _fields(context)],
        "editor": _editor(visit),
        "may_configure": is_allowed("configure", visit.account, script),
        **edits.edits_of(visit),
    }


def _context_of(visit: Visit) -> str:
    name = visit.form.get("context") or visit.query.get("context") or ""
    return name if name in tuple(ContextType) else str(ContextType.TICK_EVENT)


def _changed(script: AssistantScript, context: ContextType) -> int:
    """The number of fields in a context that the assistant overrides."""
    rows = (row_of(script, keys) for keys in _fields(context))
    return sum(not row["is_default"] for row in rows)


def _fields(context: str) -> list[tuple[str, ...]]:
    names = fields_of(ContextType(context)).model_fields
    return [("context_configs", str(context), name) for name in names]


def _part(row: prompts.ComponentRow, tokens: dict[int, int]) -> Shown:
    """Format a part of the prompt; `tokens` is "" if it has none in the chosen context."""
    count = tokens.get(row["number"], 0)
    what = row["description"] or row["content"]
    return {**row, "what": what, "tokens": f"{count:,}" if count else ""}


def _text(script: AssistantScript, what: str) -> tuple[str, str, str]:
    """Name in `texts`, name for people, and contents of a text."""
    text = texts.text_of(script, what).data
    return what, text.name, text.text


def _preview(visit: Visit, context: str, sizes: Result[shown_prompts.ShownPrompt]) -> Shown:
    """The prompt that would be sent next in a context, or the problem why there is none."""
    if not sizes.ok:
        return {"problem": sizes.message}
    whole = shown_prompts.show_prompt(
        visit.assistant, visit.account, is_whole=True, context=context
    )
    if not whole.ok:
        return {"problem": whole.message}
    return {
        # All tokens, including those of the tools.
        "together": f"{sizes.data['total']:,}",
        "tools": sizes.data["tokens"].get(TOOLS, 0),
        "messages": [
            (str(message["role"]), shown_prompts.as_text(message))
            for message in whole.data["messages"]
        ],
    }


def _editor(visit: Visit) -> Shown | None:
    """The editor of the text that the form or the query string names; None if neither does.

    With the difference to the stored text, once the visitor asked for it, and the mark of the
    stored text then; or with the problem why the text cannot be edited.
    """
    what, key = visit.form.get("what", ""), visit.form.get("key", "")
    text = visit.form.get("text")
    # A link opens an editor; a form was sent to show the difference, or its saving was refused.
    if not what:
        what, key = visit.query.get("edit", ""), visit.query.get("key", "").strip()
    if not what:
        return None
    editor = {"what": what, "key": key, "mark": ""}
    result = texts.text_of(visit.assistant, what, key)
    if not result.ok:
        return {**editor, "name": what, "text": clean(text or ""), "problem": result.message}
    editor |= {"name": result.data.name, "text": clean(result.data.text if text is None else text)}
    if text is None:
        return editor
    comparison = texts.text_difference(visit.assistant, what, key, editor["text"])
    if not comparison.ok:
        return editor
    data = comparison.data
    return {**editor, "pieces": data.pieces, "mark": data.mark, "is_same": data.is_same}


# ---- changing ----------------------------------------------------------------------------------


def _difference(visit: Visit) -> Result[TextDifference]:
    form = visit.form
    text = clean(form.get("text", ""))
    return texts.text_difference(visit.assistant, form.get("what", ""), form.get("key", ""), text)


def _save(visit: Visit) -> Result:
    form = visit.form
    return texts.set_text(
        visit.assistant,
        form.get("what", ""),
        form.get("key", ""),
        clean(form.get("text", "")),
        before=form.get("mark") or None,  # none if it is saved without a look at the difference
        by=visit.by,
    )


def _of_number(visit: Visit, do: Callable[[AssistantScript, int], Result]) -> Result:
    try:
        number = whole_number_in(visit.form, "number")
    except ValueError:
        number = None
    if number is None:
        text = visit.form.get("number", "")[:40]
        return Result.invalid(f"{text!r} is not the number of a component, such as 250.")
    return do(visit.assistant, number)


def _switch(visit: Visit) -> Result:
    return _of_number(
        visit, partial(prompts.switch_component, enabled=visit.form.get("to") == "on")
    )


def _delete(visit: Visit) -> Result:
    return _of_number(visit, prompts.delete_component)


def _to_context(visit: Visit, _result: Result) -> str:
    """The address of the page, in the same context."""
    address = page_address("prompt", key=str(visit.assistant.key))
    return f"{address}?{urlencode({'context': _context_of(visit)})}"


def _action(name: str, do: Callable[[Visit], Result]) -> Action:
    return Action(f"{ONE}prompt/{name}/", name, "prompt", "configure", do, goes_to=_to_context)


PAGES = (Page(f"{ONE}prompt/", "prompt", "Prompt", "show prompts", _show),)
ACTIONS = (
    Action(
        f"{ONE}prompt/difference/",
        "text-difference",
        "prompt",
        "configure",
        _difference,
        is_look=True,
    ),
    _action("set-text", _save),
    _action("switch-component", _switch),
    _action("delete-component", _delete),
    _action(
        "apply-template",
        lambda visit: prompts.apply_template(visit.assistant, visit.form.get("template", "")),
    ),
    _action(
        "delete-template",
        lambda visit: prompts.delete_template(visit.assistant, visit.form.get("template", "")),
    ),
    _action("set-context", set_settings),
    _action(
        "reset-context",
        lambda visit: prompts.reset_context(visit.assistant, visit.form.get("context", "")),
    ),
    *edits.actions("prompt"),
)
