"""Questions to people: what is open, and why the last ones were closed.

What an older game keeps in attributes comes in when its assistants start: `approvals.store`.
"""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    """One table."""

    dependencies = [("evennia_ai", "0016_games_by_name")]
    operations = [
        migrations.CreateModel(
            name="StoredQuestion",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("assistant", models.BigIntegerField()),
                ("key", models.CharField(blank=True, max_length=255)),
                ("asked_at", models.FloatField()),
                ("due", models.FloatField(default=0.0)),
                ("state", models.CharField(default="open", max_length=16)),
                ("choice", models.CharField(blank=True, max_length=255)),
                ("question", models.TextField(blank=True)),
                ("why", models.TextField(blank=True)),
                ("closed_at", models.FloatField(default=0.0)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["assistant", "state"], name="evennia_ai_question_of"),
                    models.Index(fields=["key"], name="evennia_ai_question_key"),
                    models.Index(fields=["state", "closed_at"], name="evennia_ai_question_state"),
                ],
            },
        ),
    ]
