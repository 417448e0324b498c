"""Files into the store: reading in parallel, then one row for each call."""
