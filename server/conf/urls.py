"""The demo game's web pages: the assistants' API, the admin pages, and Evennia's own."""

from django.urls import include, path
from evennia.web.urls import urlpatterns as evennia_pages

urlpatterns = [
    path("api/ai/", include("evennia_ai.api.urls")),
    path("admin/", include("evennia.web.admin.urls")),
    *evennia_pages,
]
