"""Floor 2, `hosts`: Codex."""
