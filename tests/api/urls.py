"""A game that has both APIs: ours first, as the install steps say, and Evennia's own."""

from django.urls import include, path
from evennia.web.urls import urlpatterns as evennia_pages

urlpatterns = [
    path("api/ai/", include("evennia_ai.api.urls")),
    path("api/", include("evennia.web.api.urls", namespace="api")),
    *evennia_pages,
]
