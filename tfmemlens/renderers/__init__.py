"""How does it look? One look a module, no sums, no thresholds."""
