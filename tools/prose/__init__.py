"""The rules of English that a pattern can check, and what checks them."""
