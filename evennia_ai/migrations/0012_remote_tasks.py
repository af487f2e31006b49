"""Tasks that assistants gave agents elsewhere."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    """One table, with what it is looked up by."""

    dependencies = [("evennia_ai", "0011_peers")]
    operations = [
        migrations.CreateModel(
            name="RemoteTask",
            fields=[
                ("id", models.CharField(max_length=64, primary_key=True, serialize=False)),
                ("assistant", models.BigIntegerField()),
                ("agent", models.CharField(max_length=64)),
                ("person", models.CharField(blank=True, max_length=64)),
                ("chain", models.CharField(max_length=255)),
                ("hops", models.IntegerField()),
                ("task", models.CharField(blank=True, max_length=255)),
                ("context", models.CharField(blank=True, max_length=255)),
                ("state", models.CharField(max_length=20)),
                ("tokens", models.BigIntegerField(default=0)),
                ("cost_nano", models.BigIntegerField(default=0)),
                ("began_at", models.FloatField()),
                ("ended_at", models.FloatField(default=0.0)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["agent", "began_at"], name="evennia_ai_remote_of_day"),
                    models.Index(fields=["assistant", "state"], name="evennia_ai_remote_open"),
                ]
            },
        ),
    ]
