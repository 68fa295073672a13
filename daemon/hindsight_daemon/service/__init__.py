"""Use cases: what each protocol method does."""
