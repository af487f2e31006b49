"""Jobs for workers, and the workers that were seen."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    """Two tables, empty where the game does all work itself."""

    dependencies = [("evennia_ai", "0012_remote_tasks")]
    operations = [
        migrations.CreateModel(
            name="WorkJob",
            fields=[
                ("key", models.CharField(max_length=64, primary_key=True, serialize=False)),
                ("run", models.CharField(max_length=64)),
                ("assistant", models.BigIntegerField()),
                ("epoch", models.BigIntegerField()),
                ("kind", models.CharField(max_length=16)),
                ("given", models.BinaryField()),
                ("state", models.CharField(default="waiting", max_length=16)),
                ("attempts", models.SmallIntegerField(default=0)),
                ("worker", models.CharField(blank=True, max_length=255)),
                ("result", models.BinaryField(default=b"")),
                ("bell", models.BigIntegerField(default=0)),
                ("refusals", models.SmallIntegerField(default=0)),
                ("at", models.DateTimeField()),
                ("until", models.DateTimeField()),
            ],
            options={
                "indexes": [
                    models.Index(fields=["run", "state"], name="evennia_ai_job_state"),
                    models.Index(fields=["assistant", "kind"], name="evennia_ai_job_of"),
                ]
            },
        ),
        migrations.CreateModel(
            name="WorkerSeen",
            fields=[
                ("name", models.CharField(max_length=255, primary_key=True, serialize=False)),
                ("began_at", models.DateTimeField()),
                ("seen_at", models.DateTimeField()),
                ("embeddings", models.CharField(blank=True, max_length=64)),
                ("problem", models.CharField(blank=True, max_length=255)),
            ],
        ),
    ]
