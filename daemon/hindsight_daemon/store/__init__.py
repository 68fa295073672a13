"""Durable storage: a SQLite journal in front of LanceDB tables; the only importer of lancedb."""
