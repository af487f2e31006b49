"""The record: on the database, in memory, in archives."""
