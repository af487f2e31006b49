"""The trace: why each message was answered as it was, for some days."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    """One table."""

    dependencies = [("evennia_ai", "0004_access_tokens")]
    operations = [
        migrations.CreateModel(
            name="TracedMessage",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("assistant", models.BigIntegerField()),
                ("number", models.BigIntegerField()),
                ("at", models.FloatField()),
                ("person", models.CharField(blank=True, max_length=64)),
                ("name", models.CharField(blank=True, max_length=255)),
                ("words", models.TextField(blank=True)),
                ("answer", models.TextField(blank=True)),
                ("is_private", models.BooleanField(default=True)),
                ("is_answer_private", models.BooleanField(default=True)),
                ("facts", models.JSONField(default=dict)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["assistant", "at"], name="evennia_ai_trace_at"),
                    models.Index(fields=["assistant", "number"], name="evennia_ai_trace_of"),
                    models.Index(fields=["at"], name="evennia_ai_trace_old"),
                ],
            },
        ),
    ]
