"""Floor 2, `hosts`: Cursor."""
