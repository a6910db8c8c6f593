"""Choosing a configuration row for a call: candidates, trials on private copies, timing, and the cache of winners (docs/tuning.md)."""
