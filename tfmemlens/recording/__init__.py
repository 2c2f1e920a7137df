"""What runs inside the user's own Python, beside TensorFlow: it catches what the readers read."""
