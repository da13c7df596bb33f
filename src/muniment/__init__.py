"""Muniment, the record room of AI agents: what was made is kept, and read back before it is believed."""

__version__ = "0.1.0"
