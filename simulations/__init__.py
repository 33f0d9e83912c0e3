"""Experiments that use the library. Not part of the wheel: run them from a checkout."""
