"""Floor 2, `hosts`: an agent on any machine, whose host tells nothing of itself."""
