"""What TensorFlow's ops do."""
