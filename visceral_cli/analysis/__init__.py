"""Tool calls to groups, freshness and savings."""
