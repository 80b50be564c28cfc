"""The rules of English that patterns can check, and their checker."""
