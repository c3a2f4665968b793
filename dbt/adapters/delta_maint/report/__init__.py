"""How it is told: console, JSON and HTML from the same objects."""
