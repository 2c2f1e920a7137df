"""Graphs in files and traces."""
