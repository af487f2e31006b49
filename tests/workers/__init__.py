"""Work that workers do: what stands in their jobs, and games that have none."""
