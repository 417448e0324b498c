"""The same recording and serving for tools that frameworks call; each needs its framework."""
