"""Chapters, practice pages, laboratories: their rules, and that they run."""
