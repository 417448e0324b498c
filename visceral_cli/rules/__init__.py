"""Groups to rules."""
