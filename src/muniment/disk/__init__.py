"""Floor 1, `disk`: a confined root and acts on it that are durable and read back before they are believed."""
