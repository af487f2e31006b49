"""Tokens of the REST API, hashed."""

from __future__ import annotations

from django.conf import settings
from django.db import migrations, models
from django.db.models.deletion import CASCADE


class Migration(migrations.Migration):
    """One table."""

    dependencies = [
        ("evennia_ai", "0003_memory"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]
    operations = [
        migrations.CreateModel(
            name="AccessToken",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                (
                    "account",
                    models.ForeignKey(
                        on_delete=CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                ("name", models.CharField(blank=True, max_length=64)),
                ("begins", models.CharField(max_length=8)),
                ("digest", models.CharField(max_length=64, unique=True)),
                ("password", models.CharField(max_length=64)),
                ("place", models.CharField(blank=True, max_length=64)),
                ("made_at", models.BigIntegerField()),
                ("ends_at", models.BigIntegerField()),
                ("used_at", models.BigIntegerField(default=0)),
            ],
        ),
    ]
