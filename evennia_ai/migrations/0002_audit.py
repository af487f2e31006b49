"""The record: events of each assistant and of the game, and snapshots of what they came to."""

from __future__ import annotations

from django.db import migrations, models


def _columns() -> list[tuple[str, models.Field]]:
    return [
        ("id", models.BigAutoField(primary_key=True, serialize=False)),
        ("originator_id", models.UUIDField()),
        ("originator_version", models.BigIntegerField()),
        ("topic", models.CharField(max_length=255)),
        ("event", models.CharField(max_length=64)),
        ("at", models.BigIntegerField()),
        ("state", models.BinaryField()),
    ]


def _one_each(name: str) -> models.UniqueConstraint:
    return models.UniqueConstraint(fields=("originator_id", "originator_version"), name=name)


class Migration(migrations.Migration):
    """Two tables."""

    dependencies = [("evennia_ai", "0001_ledger")]
    operations = [
        migrations.CreateModel(
            name="RecordedEvent",
            fields=_columns(),
            options={
                "constraints": [_one_each("evennia_ai_one_event_each")],
                "indexes": [
                    models.Index(
                        fields=["originator_id", "event", "originator_version"],
                        name="evennia_ai_event_of",
                    ),
                    models.Index(
                        fields=["originator_id", "at", "originator_version"],
                        name="evennia_ai_event_at",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="RecordedSnapshot",
            fields=_columns(),
            options={"constraints": [_one_each("evennia_ai_one_snapshot_each")]},
        ),
    ]
