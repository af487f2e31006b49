"""Tests of the ledger, shared by real server processes on a real database."""
