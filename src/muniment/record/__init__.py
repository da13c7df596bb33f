"""Floor 1, `record`: the ledger and what belongs to it: evidence tables, witnesses, claims, consent."""
