"""Attacks on results that are being written, and on those that were."""
