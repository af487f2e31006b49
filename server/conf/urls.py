"""The demo game's web pages: Evennia's own, with its admin pages, and nothing of ours by name."""

from django.urls import include, path
from evennia.web.urls import urlpatterns as evennia_pages

urlpatterns = [path("admin/", include("evennia.web.admin.urls")), *evennia_pages]
