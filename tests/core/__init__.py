"""The helpers against plain loops, by property, and with hostile arguments."""
