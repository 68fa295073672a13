"""The public wire contract: frames, envelopes, documents, methods, handshake."""
