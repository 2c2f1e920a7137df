"""Beside the user's process: its output, its signals, its end. POSIX only."""
