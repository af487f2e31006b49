"""Tests of the record: in the database, in memory, and in archives."""
