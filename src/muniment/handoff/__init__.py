"""Handoff room: delegated work counts only when the parent has read it back (spec 3)."""
