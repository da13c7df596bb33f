"""Faces, web: the vault's wire, and how it is served."""
