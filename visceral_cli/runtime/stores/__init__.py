"""Where results are kept: one interface, three places. Only JSON text goes in and out."""
