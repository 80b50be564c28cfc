"""The package, the notebooks' normal form, and what the Makefile calls."""
