"""What the names of nodes tell: scope, layer, phase, optimizer slots, the API in use."""
