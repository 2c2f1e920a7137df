"""`python -m tfmemlens` does what `tfmemlens` does."""

from tfmemlens.cli.main import main

raise SystemExit(main())
