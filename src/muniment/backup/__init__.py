"""Floor 3, `backup`: the whole agent, planned, confirmed, kept and restored."""
