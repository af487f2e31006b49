"""The subcommands `assistant config`, `undo` and `redo`, which show and change settings."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable
from textwrap import wrap

from evennia_ai.commands.base import number_of
from evennia_ai.commands.tables import cropped
from evennia_ai.commands.words import WordCommand, subcommand
from evennia_ai.core.text.words import counted
from evennia_ai.operations import AssistantScript, Result
from evennia_ai.operations.audit import undoing as edits_of
from evennia_ai.operations.audit.edits import Edit
from evennia_ai.operations.settings import changing as settings_of
from evennia_ai.operations.settings.rows import HEADINGS, OTHERS, SettingRow, group_of

LIST = "list"
VERBS = (LIST, "show", "set", "unset")
WIDTH, VALUE_WIDTH = 78, 40
# The help of settings has Markdown links, as it is also used for the docs.
_LINK = re.compile(r"\[\w+\]\((\w+\.md)\)")


def _value(value: object) -> str:
    if isinstance(value, str) and value:
        return value
    return json.dumps(value, ensure_ascii=False, default=str)


def _line(row: SettingRow, width: int = VALUE_WIDTH) -> str:
    mark = " " if row["is_default"] else "*"
    value = _value(row["value"]).replace("\n", " ")
    return f" {mark} {row['name']:<36} {cropped(value, width)}"


def listed(rows: Iterable[SettingRow]) -> list[str]:
    """Settings as lines under their headings."""
    all_rows = list(rows)
    lines = []
    for group in (*HEADINGS, OTHERS):
        own = [row for row in all_rows if group_of(row["name"]) == group]
        if own:
            lines += [f"{group}:", *map(_line, own)]
    return lines


def overview(rows: Iterable[SettingRow]) -> list[SettingRow]:
    """Settings without the keys of containers that have their defaults: these are counted."""
    all_rows = list(rows)
    inner = Counter(row["name"].partition(".")[0] for row in all_rows if "." in row["name"])
    shown: list[SettingRow] = []
    for row in all_rows:
        if count := inner[row["name"]]:
            shown.append({**row, "value": counted(count, "settings")})
        elif "." not in row["name"] or not row["is_default"]:
            shown.append(row)
    return shown


def explained(row: SettingRow) -> list[str]:
    """One setting as lines: value, default, type and help."""
    default = "" if row["is_default"] else f"   (default {_value(row['default'])})"
    value = f"{row['name']} = {_value(row['value'])}{default}"
    kind = f"  type      {row['type']}"
    text = wrap(_LINK.sub(r"docs/\1", str(row["text"])), WIDTH - 12) or [""]
    return [value, kind, f"  does      {text[0]}", *(f"            {line}" for line in text[1:])]


class ConfiguringWords(WordCommand):
    """The subcommands about settings and edits."""

    @subcommand(
        "assistant config <name> [list | show <key> | set <key> <value> | unset <key>]",
        "Its settings; list adds the keys inside them. Show explains one; set changes it from its "
        "next turn on, after a check; unset restores the default. Type a key inside another one "
        "with a dot, as in execution_config.max_iterations_per_tick, or by its own name if only "
        "one has it.",
    )
    def _config(self, rest: str) -> None:
        script, rest = self.whose(rest, VERBS)
        if script is None:
            return
        verb, _, rest = rest.partition(" ")
        if rest.lstrip().startswith("=") and verb.casefold() not in VERBS:
            verb, rest = "set", f"{verb} {rest}"
        path, _, value = rest.strip().partition(" ")
        value = value.strip().removeprefix("=").strip()
        verb = verb.casefold()
        if verb in ("", "list", "show") and not value:
            if self.may("show configuration", script):
                self._show_settings(script, path, is_whole=verb == "list")
        elif (verb == "set" and path and value) or (verb == "unset" and path and not value):
            self._change(script, path, value)
        elif verb in ("", *VERBS):
            self.show_usage()
        elif settings_of.show_setting(script, verb).ok:
            self.show_usage(f"Type show or set before {verb}.")
        else:
            self.show_usage(f"{verb} is not one of: {', '.join(VERBS)}.")

    def _change(self, script: AssistantScript, path: str, value: str) -> None:
        """Set a setting, or restore its default if no value is given."""
        # Some settings need more than the right to configure.
        if not self.may(settings_of.act_to_configure([path]), script):
            return
        if value:
            result = settings_of.set_setting(script, path, value, by=self.by)
        else:
            result = settings_of.unset_setting(script, path, by=self.by)
        self.show_or_usage(result)

    def _show_settings(self, script: AssistantScript, path: str, *, is_whole: bool) -> None:
        if not path:
            rows = settings_of.configuration(script).data["settings"]
            head = f"{script.key}'s settings; * marks what differs from the default."
            more = [f"To explain one: assistant config {script.key} show <key>"]
            if not is_whole:
                rows = overview(rows)
                more.append(f"All with their keys: assistant config {script.key} list")
            self.show_long("\n".join([head, *listed(rows), *more]))
            return
        result = settings_of.show_setting(script, path)
        if not result.ok:
            self.show_usage(result.message)
            return
        row = result.data
        start = f"{row['name']}."
        rows = settings_of.configuration(script).data["settings"]
        inner = [each for each in rows if each["name"].startswith(start)]
        self.show_long("\n".join([*explained(row), *map(_line, inner)]))

    @subcommand(
        "assistant undo [<name>] [list | <number>]",
        "Undoes the last edit that somebody made to it: a setting, its prompt, its persona, its "
        "look, what it may do. Type it again to undo the one before. List shows the edits that can "
        "be undone, each with a number. Later changes to the same thing stay; and nothing that was "
        "said, spent, forgotten or deleted comes back.",
    )
    def _undo(self, rest: str) -> None:
        first = rest.partition(" ")[0]
        # A number in front is an edit's, unless an assistant has it as a name.
        script, rest = self.whose(rest, (LIST, first) if number_of(first) is not None else (LIST,))
        if script is None:
            return
        word = rest.casefold()
        if word == LIST:
            if self.may("show configuration", script):
                self.show_long(edits_of.list_edits(script).message)
        elif word and number_of(word) is None:
            self.show_usage(f"{rest} is neither the number of an edit nor '{LIST}'.")
        elif self.may("undo", script):
            self._change_edit(script, edits_of.find_undo(script, number_of(word)), edits_of.undo)

    @subcommand("assistant redo [<name>]", "Makes the edit again that was last undone.")
    def _redo(self, name: str) -> None:
        script = self.pick_for(name, "undo")
        if script is not None:
            self._change_edit(script, edits_of.find_redo(script), edits_of.redo)

    def _change_edit(
        self, script: AssistantScript, edit: Result[Edit], change: Callable[..., Result]
    ) -> None:
        # The right to undo is not enough: an edit may have needed others.
        self.show(
            edits_of.change_as(self.caller, script, edit, change, counts_as_staff=self.is_staff)
        )
