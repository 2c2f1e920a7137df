"""Bytes of any size and state: huge messages, encodings, regions of a log."""
