"""Programs that ran once; their results are stored in `course/evidence`."""
