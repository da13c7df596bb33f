"""Floor 2, `hosts`: Claude Code: a project, and what the program keeps in the home folder."""
