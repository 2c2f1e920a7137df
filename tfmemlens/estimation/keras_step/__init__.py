"""A model's description to the step that TensorFlow runs for it."""
