"""The scope of an access token, and tools of MCP servers as they were allowed."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    """A column and a table: a token from before does by REST what it did, and by MCP it reads."""

    dependencies = [("evennia_ai", "0009_cards_and_lore_terms")]
    operations = [
        migrations.AddField(
            "accesstoken", "scope", models.CharField(default="usual", max_length=10)
        ),
        migrations.CreateModel(
            name="ToolPin",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("server", models.CharField(max_length=64)),
                ("tool", models.CharField(max_length=255)),
                ("description", models.TextField()),
                ("parameters", models.TextField()),
                ("by", models.CharField(blank=True, max_length=255)),
                ("at", models.BigIntegerField()),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("server", "tool"), name="evennia_ai_one_pin_of_a_tool"
                    )
                ]
            },
        ),
    ]
