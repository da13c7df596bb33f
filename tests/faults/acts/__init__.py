"""The acts that are tried under faults; `tests.faults.harness` says what an act has to offer."""
