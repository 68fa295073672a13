"""Reads transcripts as they grow: discovery, tailing, checkpoints, redaction."""
