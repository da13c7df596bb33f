"""Floor 3, `vault`: where snapshots are stored: packs of extents, a catalogue, and one folder a tenant."""
