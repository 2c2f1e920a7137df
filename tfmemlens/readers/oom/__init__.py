"""The parts of an OOM log: how its lines look, and how they belong together. `readers/oom_log.py` puts them
to work.
"""
