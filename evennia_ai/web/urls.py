"""URLs of the workbench; `web.site` includes them in the game's web site."""

from __future__ import annotations

from django.urls import path

from evennia_ai.web.menu import ACTIONS, DOWNLOADS, PAGES
from evennia_ai.web.rows import APP_NAME
from evennia_ai.web.views import action_view, download_view, page_view

app_name = APP_NAME
urlpatterns = [
    *(path(page.path, page_view(page), name=page.name) for page in PAGES),
    *(path(action.path, action_view(action), name=action.name) for action in ACTIONS),
    *(path(each.path, download_view(each), name=each.name) for each in DOWNLOADS),
]
