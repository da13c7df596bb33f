"""Measurements of Muniment beside its peers; nothing here is a test, and no test waits on a clock."""
