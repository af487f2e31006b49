"""Text in and out of a model: cleaning, reading, phrasing, dates."""
