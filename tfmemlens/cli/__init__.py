"""The command line: one command a module. It parses, calls, prints, and returns an exit status."""
