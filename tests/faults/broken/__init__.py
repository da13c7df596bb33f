"""Acts that are wrong on purpose: the harness has to catch each of them."""
