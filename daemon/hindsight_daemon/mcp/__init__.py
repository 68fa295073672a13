"""MCP on top of the service: the only importer of the official SDK."""
