"""A training graph to the step that TensorFlow's executor runs for it."""
