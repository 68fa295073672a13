"""One module per verb: options, one call, one output. Commands never import each other."""
