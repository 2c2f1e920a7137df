"""The copies of Grappler's layout pass, the op that forces each, and what they cost."""
