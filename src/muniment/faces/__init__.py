"""Floor 4, the faces: they parse, make one call, and render; nothing else prints, asks or translates."""
