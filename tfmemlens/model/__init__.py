"""The values that the stages hand to each other; they depend on nothing but each other."""
