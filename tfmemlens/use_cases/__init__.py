"""What a command or a call of the API asks for: the flow of `pipeline`, put to work."""
