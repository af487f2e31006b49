"""Settings of an assistant: shown as rows, checked and changed."""
