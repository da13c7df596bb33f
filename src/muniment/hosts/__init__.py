"""Floor 2, `hosts`: everything about the programs that agents run in; nothing about any protocol."""
