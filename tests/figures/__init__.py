"""The interactive figures: what they compute, draw and answer."""
