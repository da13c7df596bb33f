"""Floor 3½, `desk`: questions that go over all rooms: status, show, verify, find, doctor, timeline."""
