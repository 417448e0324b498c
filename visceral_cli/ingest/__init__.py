"""Files to spans."""
