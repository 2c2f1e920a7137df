"""What several rules share: questions about a moment, remedies, code snippets, the verdict."""
