"""Attacks by the command line and by a machine that has run out of something."""
