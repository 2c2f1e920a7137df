"""What `tfmemlens fleet` can do, one command a file: as in `tfmemlens.cli`."""
