"""Faces, languages: which one the reader has, and every sentence, size and instant in it."""
