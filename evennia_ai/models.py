"""What the package keeps in tables of its own: model calls and what they add up to.

Only `ledger` writes them. Amounts of money are whole nano-dollars, times whole seconds since 1970;
counters are added to in the database and never set from what a server process remembers, so that
several server processes can share them.
"""

from __future__ import annotations

from django.db import models

SHORT, LONG = 64, 255


class BudgetTotal(models.Model):
    """What one account has used: a scope, whose it is, and a period. See `core.budget.Total`."""

    scope = models.CharField(max_length=10)
    key = models.CharField(max_length=LONG, blank=True)
    period = models.CharField(max_length=16, blank=True)
    calls = models.BigIntegerField(default=0)
    open_calls = models.BigIntegerField(default=0)
    prompt_tokens = models.BigIntegerField(default=0)
    completion_tokens = models.BigIntegerField(default=0)
    cost_nano = models.BigIntegerField(default=0)
    held_tokens = models.BigIntegerField(default=0)
    held_cost_nano = models.BigIntegerField(default=0)
    granted_tokens = models.BigIntegerField(default=0)
    granted_cost_nano = models.BigIntegerField(default=0)
    granted_calls = models.BigIntegerField(default=0)
    warned_tokens = models.BooleanField(default=False)
    warned_cost = models.BooleanField(default=False)

    class Meta:
        """One row for each account, however many server processes begin it at once."""

        constraints = [
            models.UniqueConstraint(
                fields=["scope", "key", "period"], name="evennia_ai_one_total_each"
            )
        ]


class ModelCall(models.Model):
    """One model call, from the moment it is reserved.

    Its key names the server process that makes it. What is estimated stays held until it is
    closed; `due` is when it is surely over, whatever became of that process.
    """

    key = models.CharField(max_length=SHORT, primary_key=True)
    owner = models.CharField(max_length=SHORT)
    at = models.BigIntegerField()
    due = models.BigIntegerField()
    assistant = models.CharField(max_length=LONG)
    person = models.CharField(max_length=LONG, blank=True)
    purpose = models.CharField(max_length=16)
    model = models.CharField(max_length=LONG)
    state = models.CharField(max_length=10)
    estimated_prompt_tokens = models.BigIntegerField()
    estimated_completion_tokens = models.BigIntegerField()
    estimated_cost_nano = models.BigIntegerField()
    prompt_tokens = models.BigIntegerField(default=0)
    completion_tokens = models.BigIntegerField(default=0)
    cost_nano = models.BigIntegerField(default=0)
    is_priced = models.BooleanField(default=True)

    class Meta:
        """What is looked for: an assistant's calls of a time, and those that are still open."""

        indexes = [
            models.Index(fields=["assistant", "at"], name="evennia_ai_call_of"),
            models.Index(fields=["state", "at"], name="evennia_ai_call_state"),
        ]
