"""Floor 3, `archive`: deliverables are moved, read back at their final address, and only then reported."""
