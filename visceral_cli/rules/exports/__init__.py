"""Rules as settings of other people's caches."""
