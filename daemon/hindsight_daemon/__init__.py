"""The background half of hindsight: protocol, client, store and everything behind the socket."""
