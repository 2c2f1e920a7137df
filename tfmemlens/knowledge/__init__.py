"""Pure formulas: numbers in, bytes out. Each says where it comes from and how well it was confirmed."""
