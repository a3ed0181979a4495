"""Incidents and evidence to verdicts. Pure: everything comes in loaded, nothing is read or written."""
