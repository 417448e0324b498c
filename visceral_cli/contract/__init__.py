"""What both halves must agree on: identity, rules, attribute names and the decision."""
