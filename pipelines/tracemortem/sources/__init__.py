"""Files as people have them -> typed rows, and what could not be read."""
