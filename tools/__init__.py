"""Programs that the Makefile and the workflows call."""
