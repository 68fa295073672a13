"""Version numbers; a leaf that everything may import and that imports nothing."""

VERSION = "0.1.0"
PROTOCOL_VERSIONS = (1,)
"""Protocol numbers this build speaks, oldest first."""
STORE_SCHEMA = 1
"""Number of the newest store layout this build reads and writes."""
