"""The loop and the tick, driven by hand."""
