"""The one folder that `run --trace` puts on PYTHONPATH: it must hold nothing else that a program imports."""
