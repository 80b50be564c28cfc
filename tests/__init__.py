"""The checks, in folders: each holds one kind."""
