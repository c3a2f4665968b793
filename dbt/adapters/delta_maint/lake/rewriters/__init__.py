"""How a chunk of a plan becomes new files: one small interface, one module per way."""
