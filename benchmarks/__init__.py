"""Benchmarks that anybody can run again: retrieval quality and speed, no language model needed."""
