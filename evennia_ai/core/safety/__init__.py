"""Limits, lockout, money, approvals and the audit events: the rules, as tables."""
