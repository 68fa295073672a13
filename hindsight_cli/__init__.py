"""The terminal side of hindsight; sees only the daemon's public face."""
