"""Does hindsight learn what a strict maintainer would, and nothing else? See `__main__`."""
