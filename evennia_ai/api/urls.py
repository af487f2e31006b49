"""The addresses of the API: `path("api/ai/", include("evennia_ai.api.urls"))`, before `api/`."""

from __future__ import annotations

from django.urls import path, re_path, register_converter
from django.urls.converters import StringConverter

from evennia_ai.api import (
    accounting,
    adopting,
    asking,
    assistants,
    conduct,
    lore,
    memory,
    monitoring,
    nights,
    people_memory,
    schema,
    tokens,
    traces,
    undoing,
)
from evennia_ai.api.lost import Lost

app_name = "evennia_ai_api"


class ShortNumber(StringConverter):
    """A whole number that every database can hold."""

    regex = "[0-9]{1,9}"

    def to_python(self, value: str) -> int:
        """The number."""
        return int(value)


class MemoryKey(StringConverter):
    """The key of a memory."""

    regex = "[0-9a-f]{32}"


class OwnNumber(StringConverter):
    """What somebody is told of what is remembered of them: a memory, or what was made of some."""

    regex = "(?:[0-9]{1,18}|a[0-9a-f]{8})"


class PersonName(StringConverter):
    """A player or a being, by a number."""

    regex = "(?:account|object)-[0-9]{1,9}"


register_converter(ShortNumber, "ai_number")
register_converter(MemoryKey, "ai_memory")
register_converter(OwnNumber, "ai_own")
register_converter(PersonName, "ai_person")

ONE = "assistants/<str:key>/"
urlpatterns = [
    path("health/", monitoring.Health.as_view(), name="health"),
    path("metrics/", monitoring.MetricsPage.as_view(), name="metrics"),
    path("schema/", schema.Schema.as_view(), name="schema"),
    path("token/", tokens.OwnToken.as_view(), name="token"),
    path("tokens/", tokens.Tokens.as_view(), name="tokens"),
    path("tokens/<ai_number:number>/", tokens.OneToken.as_view(), name="one-token"),
    path("emergency/stop/", assistants.StopAll.as_view(), name="stop-all"),
    path("emergency/clear/", assistants.ClearAll.as_view(), name="clear-all"),
    path("start/", assistants.StartAll.as_view(), name="start-all"),
    path("stop/", assistants.SilenceAll.as_view(), name="silence-all"),
    path("questions/", asking.MyQuestions.as_view(), name="my-questions"),
    path("questions/<ai_number:number>/answer/", asking.AnswerMine.as_view(), name="answer-mine"),
    path("assistants/", assistants.AssistantList.as_view(), name="assistants"),
    path(ONE, assistants.OneAssistant.as_view(), name="assistant"),
    path("adopt/", adopting.Adopt.as_view(), name="adopt"),
    path(f"{ONE}release/", adopting.Release.as_view(), name="release"),
    path(f"{ONE}clone/", assistants.Clone.as_view(), name="clone"),
    path(f"{ONE}status/", assistants.Status.as_view(), name="status"),
    path(f"{ONE}start/", assistants.Start.as_view(), name="start"),
    path(f"{ONE}stop/", assistants.Stop.as_view(), name="stop"),
    path(f"{ONE}emergency/stop/", assistants.EmergencyStop.as_view(), name="emergency-stop"),
    path(f"{ONE}emergency/clear/", assistants.EmergencyClear.as_view(), name="emergency-clear"),
    path(f"{ONE}configuration/", conduct.Configuration.as_view(), name="configuration"),
    path(f"{ONE}configuration/<str:setting>/", conduct.OneSetting.as_view(), name="setting"),
    path(f"{ONE}edits/", undoing.Edits.as_view(), name="edits"),
    path(f"{ONE}undo/", undoing.Undo.as_view(), name="undo"),
    path(f"{ONE}redo/", undoing.Redo.as_view(), name="redo"),
    path(f"{ONE}history/", conduct.History.as_view(), name="history"),
    path(f"{ONE}events/", conduct.Events.as_view(), name="events"),
    path(f"{ONE}events/<ai_number:number>/", conduct.OneEvent.as_view(), name="event"),
    path(f"{ONE}trace/", traces.Trace.as_view(), name="trace"),
    path(f"{ONE}prompts/", conduct.Prompts.as_view(), name="prompts"),
    path(f"{ONE}goals/", conduct.Goals.as_view(), name="goals"),
    path(f"{ONE}goals/<ai_number:number>/", conduct.OneGoal.as_view(), name="goal"),
    path(f"{ONE}audit/", accounting.Record.as_view(), name="audit"),
    path(f"{ONE}audit/state/", accounting.PastMoment.as_view(), name="audit-moment"),
    path(f"{ONE}audit/difference/", accounting.Difference.as_view(), name="audit-difference"),
    path(f"{ONE}audit/<ai_number:version>/", accounting.PastVersion.as_view(), name="audit-state"),
    path(f"{ONE}usage/", accounting.Usage.as_view(), name="usage"),
    path(f"{ONE}breakers/", accounting.Breakers.as_view(), name="breakers"),
    path(
        f"{ONE}breakers/<path:name>/reset/", accounting.ResetBreaker.as_view(), name="reset-breaker"
    ),
    path(f"{ONE}questions/", asking.Questions.as_view(), name="questions"),
    path(f"{ONE}questions/<ai_number:number>/answer/", asking.AnswerOne.as_view(), name="answer"),
    path(f"{ONE}tools/", asking.Tools.as_view(), name="tools"),
    path(f"{ONE}tools/<str:name>/execute/", asking.Execute.as_view(), name="execute"),
    path(f"{ONE}tell/", asking.Tell.as_view(), name="tell"),
    path(f"{ONE}memory/", memory.Memories.as_view(), name="memories"),
    path(f"{ONE}memory/search/", memory.Search.as_view(), name="memory-search"),
    path(f"{ONE}memory/status/", memory.Status.as_view(), name="memory-status"),
    path(f"{ONE}memory/reindex/", memory.Reindex.as_view(), name="memory-reindex"),
    path(f"{ONE}memory/<ai_memory:memory>/", memory.OneMemory.as_view(), name="one-memory"),
    path(f"{ONE}me/memory/", people_memory.MyMemory.as_view(), name="my-memory"),
    path(f"{ONE}me/memory/export/", people_memory.MyExport.as_view(), name="my-memory-export"),
    path(
        f"{ONE}me/memory/<ai_own:id>/",
        people_memory.MyOneMemory.as_view(),
        name="my-one-memory",
    ),
    path(
        f"{ONE}people/<ai_person:person>/memory/",
        people_memory.TheirMemory.as_view(),
        name="their-memory",
    ),
    path(f"{ONE}profiles/", people_memory.Profiles.as_view(), name="profiles"),
    path(f"{ONE}profiles/<ai_person:person>/", people_memory.OneProfile.as_view(), name="profile"),
    path(f"{ONE}sleep/", nights.Sleep.as_view(), name="sleep"),
    path(f"{ONE}wake/", nights.Wake.as_view(), name="wake"),
    path("lore/", lore.Lore.as_view(), name="lore"),
    path("lore/<ai_memory:memory>/", lore.OneLore.as_view(), name="one-lore"),
    # Whatever else is asked for here, line breaks or not, gets the body of every other mistake.
    re_path(r"^[\s\S]*$", Lost.as_view(), name="lost"),
]
