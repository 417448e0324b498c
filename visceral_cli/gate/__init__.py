"""Numbers and limits in, findings out."""
