"""Tasks of agents elsewhere, what happened to them, and the addresses that are told."""

from __future__ import annotations

from django.db import migrations, models


def _key(**more: object) -> models.CharField:
    return models.CharField(max_length=64, **more)


class Migration(migrations.Migration):
    """Three tables, each with what it is looked up by."""

    dependencies = [("evennia_ai", "0010_token_scopes_and_tool_pins")]
    operations = [
        migrations.CreateModel(
            name="PeerTask",
            fields=[
                ("id", _key(primary_key=True, serialize=False)),
                ("assistant", models.BigIntegerField()),
                ("account", models.BigIntegerField()),
                ("context", _key()),
                ("request", _key()),
                ("number", models.BigIntegerField(default=0)),
                ("is_order", models.BooleanField(default=False)),
                ("state", models.CharField(max_length=20)),
                ("question", models.BigIntegerField(default=0)),
                ("words", models.TextField()),
                ("answer", models.TextField(blank=True)),
                ("made_at", models.FloatField()),
                ("changed_at", models.FloatField()),
            ],
            options={
                "indexes": [
                    models.Index(fields=["account", "assistant"], name="evennia_ai_peer_tasks"),
                    models.Index(fields=["state"], name="evennia_ai_peer_states"),
                ]
            },
        ),
        migrations.CreateModel(
            name="PeerEvent",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("task", _key()),
                ("kind", models.CharField(max_length=10)),
                ("data", models.TextField()),
                ("at", models.FloatField()),
            ],
            options={
                "indexes": [models.Index(fields=["task", "id"], name="evennia_ai_peer_events")]
            },
        ),
        migrations.CreateModel(
            name="PeerHook",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("task", _key()),
                ("key", _key()),
                ("url", models.TextField()),
                ("token", models.TextField(blank=True)),
                ("scheme", _key(blank=True)),
                ("credentials", models.TextField(blank=True)),
                ("sent", models.BigIntegerField(default=0)),
                ("tries", models.IntegerField(default=0)),
                ("next_at", models.FloatField(default=0.0)),
                ("problem", models.CharField(blank=True, max_length=255)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("task", "key"), name="evennia_ai_one_hook_each")
                ]
            },
        ),
    ]
