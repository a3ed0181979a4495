"""Recorded requests through a small model of a serving engine, as they were and as they might have been."""
