"""The DuckDB file."""
