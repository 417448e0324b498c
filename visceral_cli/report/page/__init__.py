"""The page: one HTML file that holds all it shows."""
