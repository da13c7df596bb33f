"""Faces, scripts: the eight original scripts under their own names: parse, one call, render.

They speak English and keep the flags, outputs and exit codes that they always had (spec 4, surface);
an agent reads them, and tells the person in the person's language.
"""
