"""Embedding models behind one small protocol; the only package that imports fastembed."""
