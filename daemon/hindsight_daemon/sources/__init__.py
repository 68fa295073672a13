"""One module for each transcript family: foreign wire records in, our events out."""
