"""What is behind a word or a number of a report: a call, identity, rule, tool or kind of thing."""
