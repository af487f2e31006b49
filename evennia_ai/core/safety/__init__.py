"""Rules of safety as tables: limits, lockout, money, approvals and audit events."""
