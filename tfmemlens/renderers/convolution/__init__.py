"""How the answer on a convolution looks: as text, as JSON, as a picture."""
