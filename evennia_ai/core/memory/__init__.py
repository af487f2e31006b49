"""The rules of memory: what is kept, who may know it, what is told, and what goes at night."""
