"""Two tables of the workbench: pages that no menu leads to, and the acts on all pages.

A new page that is reached by a link or by a button is one row of `FURTHER`, a new button one of
`ACTS`. Names in braces are filled in from the game, see `ARRANGE`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

HOME = "/ai/"
ADA = f"{HOME}assistants/Ada/"
EDDA = f"{HOME}assistants/Edda/"
# One of everything that a page can show, with these texts in it; `told` has the numbers.
ARRANGE = """
from evennia_ai import audit
texts = {texts!r}
for text in texts:
    operations.add_memory(ada, text, tags=[text[:20]], by=text)
    operations.add_lore(text, keywords=['storm'], by=text)
    operations.add_goal(ada, text)
    audit.record('words_revealed', ada, by=text, kind=text, person=text, count=1)
ada.db.persona = text = ' '.join(texts)
ada.obj.db.desc = ada.db.persona
ada.db.budget_config = {{'assistant': {{'tokens_per_day': 900000}}}}
memory = operations.add_memory(ada, text[:{most}], by='admin').data.memory['number']
lore = operations.add_lore(text[:{most}], keywords=['storm'], by='admin').data['number']
told = '%d %d' % (memory, lore)
"""


@dataclass(frozen=True)
class Way:
    """The way to a page, and the acts there.

    Attributes:
        title: a name for failure messages.
        path: the address to begin at; "" to stay on the page of the way before.
        typed: texts by the CSS selectors of their fields; a checkbox is ticked, whatever the text.
        button: its words, or their beginning; "" to press none.
        lands_on: the beginning of the next page's address.
        says: a text that must be on that page.
    """

    title: str
    path: str
    typed: tuple[tuple[str, str], ...] = ()
    button: str = ""
    says: str = ""
    lands_on: str = HOME

    def named(self, names: Mapping[str, str]) -> Way:
        """The same way, with the names in braces filled in."""
        typed = tuple((field, text.format_map(names)) for field, text in self.typed)
        path = self.path.format_map(names)
        return Way(self.title, path, typed, self.button, self.says, self.lands_on)


FURTHER = (
    Way("a bench with results", f"{ADA}bench/", (("#words", "{text}"),), "Try it", "The result"),
    Way(
        "a difference",
        f"{ADA}prompt/?edit=persona",
        (("#text", "{text} anew"),),
        "Show the difference",
        "What would change",
    ),
    Way("one memory", f"{ADA}memory/{{memory}}/", says="Correct it"),
    Way("memories that were found", f"{ADA}memory/?q=storm", says="It would"),
    Way("one piece of lore", f"{HOME}lore/{{lore}}/", says="Who may know this"),
    Way("lore that is tried", f"{HOME}lore/?said=storm&assistant=Ada", says="Used"),
    Way("as it was", f"{ADA}audit/state/", says="What changed since then"),
    Way("what changed", f"{ADA}audit/difference/?a=1", says="What changed"),
    Way("one of mine", f"{HOME}me/memory/?of=Ada", says="Your choices"),
    Way("somebody", f"{ADA}people/?who=admin", says="What it remembers about them"),
    Way("a turn", "{turn}", says="Messages around it"),
    Way("a card", f"{HOME}make/", (("#file", "{card}"),), "Preview it", "nothing is created yet"),
    Way(
        "settings that are refused",
        f"{ADA}settings/",
        (("#set-tick_rate", "{text}"),),
        "Save When it acts",
        "✖",
    ),
    Way("what nobody knows", f"{ADA}audit/state/?at=soon", says="soon"),
    Way("nobody", f"{HOME}assistants/Nobody/", says="There is no assistant named"),
)
SURE = "form[action$='/{0}/'] input[name=sure]"
ACTS = (
    Way("all stopped", HOME, (("#why", "it rants"),), "Stop all", "stopped"),
    Way("all cleared", HOME, (), "Clear all", "cleared"),
    Way("stopped", HOME, (), "Stop Ada", "Ada is stopped"),
    Way("cleared", HOME, (), "Clear Ada", "Ada"),
    Way("silent", HOME, (), "Silence Ada", "Ada is silent"),
    Way("started", HOME, (), "Start Ada", "Ada is awake"),
    Way("stopped, live", ADA, (("#why", "it rants"),), "Stop Ada", "Ada is stopped", ADA),
    Way("cleared, live", ADA, (), "Clear Ada", "Ada", ADA),
    Way("found", f"{ADA}turns/", (), "Find", "", f"{ADA}turns/?"),
    Way("tried", f"{ADA}bench/", (("#words", "hello"),), "Try it", "The result"),
    Way("known", f"{ADA}memory/", (("#add-text", "The sea is calm."),), "Add", "Ada knows that"),
    Way("sought", f"{ADA}memory/", (("#q", "the sea"),), "Search", "It would", f"{ADA}memory/?"),
    Way("right", f"{ADA}memory/{{memory}}/", (("#text", "It blew."),), "Correct", "is corrected"),
    Way("gone", f"{ADA}memory/{{memory}}/", ((SURE.format("forget"), ""),), "Forget it", "forgot"),
    Way("asleep", f"{ADA}nights/", (), "Put it to sleep", "Ada sleeps until"),
    Way("woken", f"{ADA}nights/", (), "Wake it", "Ada is awake"),
    Way(
        "lore",
        f"{HOME}lore/",
        (("#lore-text", "The mill is old."), ("#keywords", "mill")),
        "Add",
        "is added",
    ),
    Way(
        "lore changed",
        f"{HOME}lore/{{lore}}/",
        (("#lore-text", "The mill is new."),),
        "Change",
        "is changed",
    ),
    Way(
        "lore removed",
        f"{HOME}lore/{{lore}}/",
        ((SURE.format("remove"), ""),),
        "Remove",
        "is removed",
    ),
    Way(
        "set", f"{ADA}settings/", (("#set-tick_rate", "9"),), "Save When it acts", "tick_rate is 9"
    ),
    Way("undone", f"{ADA}settings/", (), "Undo edit", "Redo it"),
    Way("done again", f"{ADA}settings/", (), "Redo it", "Ada: tick_rate"),
    Way("taken back", f"{ADA}audit/", (), "Undo edit", "Redo it"),
    Way(
        "looked at",
        f"{ADA}prompt/?edit=persona",
        (("#text", "She counts moths."),),
        "Show the difference",
        "What would change",
    ),
    Way("saved", "", (), "Save it", "persona"),
    Way("raised", f"{HOME}money/", (("#amount-3", "1500"),), "Raise a cap of Ada", "is raised by"),
    Way("checked", f"{HOME}health/", (), "Check", "Check"),
    Way("in a file", f"{ADA}audit/", (), "Write it to a file", "file"),
    Way("the game's record", f"{HOME}audit/", (("#by", "admin"),), "Show", "", f"{HOME}audit/?"),
    Way(
        "not heard",
        f"{HOME}me/memory/?of=Ada",
        (),
        "Do not hear me any more",
        "do not hear each other",
    ),
    Way("heard", f"{HOME}me/memory/?of=Ada", (), "Hear each other again", "Ada hears you"),
    Way(
        "not remembered",
        f"{HOME}me/memory/?of=Ada",
        (),
        "Remember nothing new about me",
        "Nothing new about you is remembered",
    ),
    Way(
        "remembered",
        f"{HOME}me/memory/?of=Ada",
        (),
        "Remember me again",
        "What you do may be remembered",
    ),
    Way("made", f"{HOME}make/", (("#key", "Edda"),), "Create it", "Edda", EDDA),
    Way("deleted", f"{EDDA}settings/", (("[action$='/delete/'] #sure", "Edda"),), "Delete", "Edda"),
)
