"""Reads only: each function makes a fixed number of Redis round trips and returns frozen dataclasses."""
