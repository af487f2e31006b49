"""A table of all commands about assistants, with the right that each needs.

`{a}` stands for the assistant's name.
"""

from dataclasses import dataclass

RUNNING, STOPPED, LOCKED, MISSING = "running", "stopped", "locked", "missing"
STATES = (RUNNING, STOPPED, LOCKED, MISSING)
EXISTING = frozenset((RUNNING, STOPPED, LOCKED))
ALWAYS = frozenset(STATES)
ANYBODY = "anybody"


@dataclass(frozen=True, slots=True)
class Row:
    """One way to type a command.

    Attributes:
        line: the line that is typed.
        act: the right it needs, a name in `operations.rights.acts.ACTS`, or ANYBODY.
        shows: the text shown when it is done, or several with " / " between, of which one is shown.
        told: the states in which even a person with the right is told that it cannot be done.
        is_hidden: whether the command does not exist for people without the right.
        then: the line typed next, where it asks a question or opens a menu or an editor.
    """

    line: str
    act: str
    shows: str
    told: frozenset[str] = frozenset()
    is_hidden: bool = False
    then: str = ""

    @property
    def is_of_one(self) -> bool:
        return "{a}" in self.line


def _told(*states: str) -> frozenset[str]:
    return frozenset(states)


LOOKS = (
    Row("assistant", ANYBODY, "Tokens today / is here, an AI / No assistant is here"),
    Row("aisetup", ANYBODY, "Tokens today / is here, an AI / No assistant is here"),
    Row("assistant help", ANYBODY, "why it answered you, or did not"),
    Row("assistant help why", ANYBODY, "Usage: assistant why"),
    Row("assistant why {a}", ANYBODY, "no messages on record"),
    Row("assistant token", ANYBODY, "No tokens."),
    Row("assistant token new", ANYBODY, "", ALWAYS),
    Row("assistant token revoke 999999", ANYBODY, "", ALWAYS),
    Row("assistant token revoke all", ANYBODY, "0 tokens of"),
    Row("assistant token of The player", "tokens of others", "No tokens."),
    Row("assistant token revoke all of The player", "tokens of others", "0 tokens of"),
    Row("assistant mute {a}", ANYBODY, "no longer hears you"),
    Row("assistant unmute {a}", ANYBODY, "", EXISTING),
    Row("assistant memory {a}", ANYBODY, "remembers nothing about you."),
    Row("assistant memory {a} correct 999999 = I am a smith.", ANYBODY, "", EXISTING),
    Row("assistant memory {a} export", ANYBODY, '"is_remembered"'),
    Row("assistant memory {a} off", ANYBODY, "will remember nothing new about you"),
    Row("assistant memory {a} on", ANYBODY, "", EXISTING),
    Row("assistant forget 999999 {a}", ANYBODY, "", EXISTING),
    Row("assistant forget me {a}", ANYBODY, "forgets nothing.", then="no"),
    Row("assistant forget everything {a}", ANYBODY, " has forgotten you: ", then="yes"),
    Row("assistant questions", ANYBODY, "There are no questions for you."),
    Row("assistant answer 1 yes", ANYBODY, "", EXISTING | {MISSING}),
    Row("assistant list", "list", "Tokens today / There is no assistant yet."),
    Row("assistant status {a}", "status", "  brain "),
    Row("assistant usage {a}", "usage", "model calls,"),
    Row("assistant tools {a}", "show tools", "What it does"),
    Row("assistant tools held", "show tools", "No tool is held back"),
    Row("assistant peers", "peers", "No external agent has given a task"),
    Row("assistant tools allow wiki__read = 3f9a", "allow remote tools", "is held back"),
    Row("assistant check {a}", "check", "An assistant can work with it.", _told(LOCKED)),
    Row("assistant check", "check", "An assistant can work with it."),
    Row("assistant budget {a}", "usage", "The whole game"),
    Row("assistant budget game", "usage", "The whole game"),
    Row("assistant budget {a} raise tokens_per_day 5", "raise budget", "is raised by 5"),
    Row("assistant budget game raise tokens_per_day 5", "raise budget of the game", "raised by 5"),
    Row("assistant budget player *#1", "usage", "by assistant"),
    Row(
        "assistant budget player *#1 raise tokens_per_day 5",
        "raise budget of a player",
        "is raised by 5",
    ),
    Row("assistant breakers {a}", "show breakers", "llm:scripted"),
    Row("assistant breakers {a} reset llm:scripted", "reset breaker of the game", "llm:scripted"),
    Row("assistant breakers {a} reset tool:none", "reset breaker", "", EXISTING),
    Row("assistant rag {a}", "show memories", "'s memory:"),
)
LIFE = (
    Row("assistant create", "create", "A new assistant", then="quit"),
    Row("assistant create Oriel = Oriel sorts maps.", "create", "Oriel is awake"),
    Row("aisetup/init Oriel", "create", "Oriel is awake"),
    Row("assistant clone {a} = Oriel", "clone", "Oriel"),
    Row('assistant import {{"name": "Oriel"}} as Orla', "create", "Orla is awake", then="yes"),
    Row('assistant import {{"name": "Oriel"}} = {a}', "configure", "has the card of", then="yes"),
    Row("assistant import nothing.png", "create", "", ALWAYS),
    Row("assistant export {a}", "show configuration", "'s card. It is in"),
    Row(
        "assistant export {a} all", "export assistant", "and all it knows, including private words"
    ),
    Row("assistant import nothing.zip", "import assistant", "", ALWAYS),
    Row("assistant lore", "show memories", "There is no lore yet / Lore packs:"),
    Row("assistant lore export", "show memories", "The lore pack written-here. It is in"),
    Row(
        'assistant lore import {{"pack": "harbour", "entries": []}}',
        "change lore",
        "The lore pack harbour",
        then="yes",
    ),
    Row("assistant delete {a}", "delete", "is deleted / is gone", then="yes"),
    Row("assistant delete {a}", "delete", "stays as it was", then="no"),
    Row("assistant adopt Brutus", "adopt", "Brutus has a mind now / an assistant already"),
    Row("assistant release {a}", "release", "", EXISTING),
    Row("assistant remove all", "remove all", "Nothing is removed.", then="no"),
    Row("assistant remove everybody", "remove all", "", ALWAYS),
    Row("assistant start {a}", "start", "is awake.", _told(RUNNING, LOCKED)),
    Row("assistant stop {a}", "stop", "is silent. To let", _told(STOPPED)),
    Row("assistant emergency stop {a}", "emergency stop", "is stopped"),
    Row(
        "assistant emergency clear all",
        "emergency clear",
        "cleared and will / None of them / no assi",
    ),
    Row("assistant start all", "start", "awake / no assi"),
    Row("assistant stop all", "stop", "silent. To let / already silent / no assi"),
    Row("assistant emergency stop all", "emergency stop", "None of them / stopped, also / no assi"),
    Row(
        "assistant emergency clear {a}", "emergency clear", "stop cleared", _told(RUNNING, STOPPED)
    ),
    Row("assistant tell {a} Dust the shelves.", "tell", "is told / Ada: ", _told(STOPPED, LOCKED)),
)
SETTINGS = (
    Row("assistant undo {a}", "undo", "", EXISTING),
    Row("assistant undo {a} list", "show configuration", "no edits to undo / undone"),
    Row("assistant undo {a} 7", "undo", "", EXISTING),
    Row("assistant redo {a}", "undo", "", EXISTING),
    Row("assistant config {a}", "show configuration", "'s settings"),
    Row("assistant config {a} list", "show configuration", "'s settings"),
    Row("assistant config {a} show tick_rate", "show configuration", "tick_rate = "),
    Row("assistant config {a} set tick_rate 10", "configure", "tick_rate"),
    Row("assistant config {a} set command_allowlist look", "configure powers", "command_allowlist"),
    Row("aisetup/config {a} set tick_rate 10", "configure", "tick_rate"),
    Row("assistant config {a} unset tick_rate", "configure", "tick_rate"),
    Row("assistant messaging {a}", "show configuration", "is reached by:"),
    Row("assistant messaging {a} hearing off", "configure", "interaction_enabled"),
    Row("assistant messaging {a} addressing off", "configure", "enable_addressing"),
    Row("assistant messaging {a} by at", "configure", "addressed_by"),
    Row("assistant messaging {a} room context", "configure", "room_messages"),
    Row("assistant messaging {a} hops 2", "configure", "max_agent_hops"),
    Row("assistant messaging {a} channel public = trigger", "channel", "listens to Public"),
    Row("assistant messaging {a} account", "account", "has an account now"),
    Row("assistant channel {a} public = trigger", "channel", "listens to Public"),
    Row("assistant account {a}", "account", "has an account now"),
    Row("assistant goal {a}", "status", "has no goal"),
    Row("assistant goal {a} = Find the atlas.", "goal", "has goal 1"),
    Row("assistant goal {a} done 7", "goal", "", EXISTING),
    Row("assistant goal {a} drop 7", "goal", "", EXISTING),
)
PROMPTS = (
    Row("assistant prompt {a}", "show prompts", "tokens of each component"),
    Row("assistant prompt {a} show", "show prompts", "[system]"),
    Row("assistant prompt {a} tick_event show", "show prompts", "[system]"),
    Row("assistant prompt {a} edit", "configure", "Line Editor", then=":q!"),
    Row("assistant component {a}", "show prompts", "components, in order"),
    Row("assistant component {a} list", "show prompts", "components, in order"),
    Row(
        "assistant component {a} set 250 world = A port.",
        "configure",
        "now has the component world",
    ),
    Row("assistant component {a} edit 250 world", "configure", "Line Editor", then=":q!"),
    Row("assistant component {a} on 4000", "configure", "component 4000 is on"),
    Row("assistant component {a} off 4000", "configure", "component 4000 is off"),
    Row("assistant component {a} delete 250", "configure", "", EXISTING),
    Row("assistant template {a}", "show prompts", "templates:"),
    Row("assistant template {a} list", "show prompts", "templates:"),
    Row("assistant template {a} set stern = Be stern.", "configure", "has the template stern"),
    Row("assistant template {a} edit stern", "configure", "Line Editor", then=":q!"),
    Row("assistant template {a} apply default", "configure", "now uses the template default"),
    Row("assistant template {a} delete stern", "configure", "", EXISTING),
    Row("assistant context {a}", "show prompts", "contexts:"),
    Row("assistant context {a} list", "show prompts", "contexts:"),
    Row("assistant context {a} tick_event", "show prompts", "context tick_event"),
    Row("assistant context {a} tick_event set max_iterations 3", "configure", "is set"),
    Row("assistant context {a} tick_event edit 250", "configure", "Line Editor", then=":q!"),
    Row("assistant context {a} tick_event reset", "configure", "reset to the game's settings"),
)
STAFF_COMMANDS = (
    Row("history {a}", "show history", "conversation", is_hidden=True),
    Row("history {a} show", "show history", "conversation", is_hidden=True),
    Row("history {a} export", "export history", "0 messages, is in", is_hidden=True),
    Row("history reset {a}", "reset history", "starts a new conversation", is_hidden=True),
    Row(
        "history reset {a} all",
        "change memories",
        "forgot all memories",
        is_hidden=True,
        then="yes",
    ),
    Row("history reset {a} with memories", "change memories", "nothing", is_hidden=True, then="no"),
    Row("/history reset {a}", "reset history", "starts a new conversation", is_hidden=True),
    Row("aiaudit {a}", "audit", "entries", is_hidden=True),
    Row("aiaudit {a} before 2", "audit", "entries", is_hidden=True),
    Row("aiaudit {a} at 1", "audit", "at version 1", is_hidden=True),
    Row("aiaudit {a} diff 1 1", "audit", "", EXISTING, is_hidden=True),
    Row("aiaudit {a} check", "audit", "agrees / differences", is_hidden=True),
    Row("aiaudit {a} export", "export audit", "events of Ada are in", is_hidden=True),
    Row(
        "aiaudit {a} archive",
        "archive audit",
        "events of Ada are in / is old enough",
        is_hidden=True,
    ),
    Row("aiexec {a}", "show tools", "Category", is_hidden=True),
    Row(
        "aiexec {a} log", "usage", "The last tool calls / has not called a tool yet", is_hidden=True
    ),
    Row("aiexec {a} say ?", "show tools", "say (", is_hidden=True),
    Row(
        "aiexec {a} say message = Hello.",
        "execute tool",
        "Ada: ",
        _told(STOPPED, LOCKED),
        is_hidden=True,
    ),
    Row("aigoal {a}", "status", "has no goal", is_hidden=True),
    Row("aigoal {a} 8 = Find the atlas.", "goal", "has goal 1", is_hidden=True),
    Row("aigoal {a} done 7", "goal", "", EXISTING, is_hidden=True),
    Row("aigoal {a} drop 7", "goal", "", EXISTING, is_hidden=True),
    Row("aiinteract {a}", "events", "heard last", is_hidden=True),
    Row("aiinteract {a} on", "configure", "interaction_enabled", is_hidden=True),
    Row("aiinteract {a} off", "configure", "interaction_enabled", is_hidden=True),
    Row("aiinteract {a} test @ada hello", "events", "rule", is_hidden=True),
    Row("assistant history {a}", "show history", "conversation"),
    Row("assistant aiaudit {a}", "audit", "entries"),
    Row("assistant aiexec {a}", "show tools", "Category"),
    Row("assistant aigoal {a}", "status", "has no goal"),
    Row("assistant aimemory {a}", "show memories", "'s memory:"),
    Row("assistant aiinteract {a}", "events", "heard last"),
)
MEMORY = (
    Row("aimemory {a}", "show memories", "'s memory:", is_hidden=True),
    Row("aimemory {a} list", "show memories", " remembers ", is_hidden=True),
    Row("aimemory {a} list facts 1", "show memories", " of that kind:", is_hidden=True),
    Row("aimemory {a} search lamp", "show memories", "nothing yet / %", is_hidden=True),
    Row("aimemory {a} person Player", "show memories", "remembers ", is_hidden=True),
    Row("aimemory {a} show 999999", "show memories", "", EXISTING, is_hidden=True),
    Row("aimemory {a} journal", "show memories", " of that kind:", is_hidden=True),
    Row("aimemory {a} profiles", "show memories", "knows nobody yet", is_hidden=True),
    Row("aimemory {a} profiles Player", "show memories", "", EXISTING, is_hidden=True),
    Row("aimemory {a} notes", "show memories", "notebook:", is_hidden=True),
    Row("aimemory {a} add The lamp is out.", "change memories", "knows that now", is_hidden=True),
    Row("aimemory {a} correct 999999 = x", "change memories", "", EXISTING, is_hidden=True),
    Row("aimemory {a} forget 999999", "change memories", "", EXISTING, is_hidden=True),
    Row(
        "aimemory {a} forget person Player",
        "change memories",
        "has forgotten them",
        is_hidden=True,
        then="yes",
    ),
    Row("aimemory {a} export person Player", "change memories", "text is in", is_hidden=True),
    Row(
        "aimemory all forget person Player",
        "change memories",
        "has forgotten them / About whom? / no assi",
        is_hidden=True,
        then="yes",
    ),
    Row("aimemory all export person Player", "change memories", "text is in", is_hidden=True),
    Row("aimemory {a} reindex", "change memories", " indexed by", is_hidden=True),
    Row("aimemory {a} sleep 2", "sleep", "sleeps until", _told(LOCKED), is_hidden=True),
    Row("aimemory {a} wake", "sleep", "", EXISTING, is_hidden=True),
    Row("aimemory lore", "show memories", "lamp: / There is no lore yet", is_hidden=True),
    Row("aimemory lore add lamp = It is dark.", "change lore", "is added", is_hidden=True),
    Row("aimemory lore change 999999 = x", "change lore", "", EXISTING | {MISSING}, is_hidden=True),
    Row("aimemory lore remove 999999", "change lore", "", EXISTING | {MISSING}, is_hidden=True),
)
TALK = (
    Row("hush {a}", ANYBODY, "is quiet here"),
    Row("hush {a} off", ANYBODY, "", EXISTING),
    Row("unhush {a}", ANYBODY, "", EXISTING),
    Row("page {a} = hello", ANYBODY, "You paged"),
    Row("assistant hush {a}", ANYBODY, "is quiet here"),
    Row("assistant unhush {a}", ANYBODY, "", EXISTING),
    Row("assistant page {a} = hello", ANYBODY, "You paged"),
    Row("@{a} hello", ANYBODY, 'hello"', is_hidden=True),
)
SECTIONS = {
    "Looking, and what anybody may": LOOKS,
    "Making and stopping": LIFE,
    "Settings": SETTINGS,
    "Prompts": PROMPTS,
    "The other commands of staff": STAFF_COMMANDS,
    "What it remembers, for staff": MEMORY,
    "Talking": TALK,
}
