"""Floor 2, `hosts`: OpenClaw: its session keys, its cron store, its hosted layout."""
