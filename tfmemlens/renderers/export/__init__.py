"""Other formats: markdown, pictures, other viewers' files."""
