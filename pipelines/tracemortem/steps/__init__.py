"""The steps of the work. Each is handed settings, opens the store itself, and closes it."""
