"""Attacks on served drives."""
