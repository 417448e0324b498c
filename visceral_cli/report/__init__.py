"""Everything to something to read."""
