"""Floor 2, `hosts`: Starchild: an agent in a container whose state lies in `/data`."""
