"""Rules of memory: what is stored, who may know it, what is recalled, and what a night does."""
