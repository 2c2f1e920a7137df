"""One format a module: what it looks like, and what it says."""
