"""`python -m onewrite_conformance`: see cli."""

from onewrite_conformance.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
