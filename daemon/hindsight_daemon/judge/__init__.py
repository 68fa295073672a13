"""Optional language models that are asked in words and answer in words; off by default."""
