"""A study: its file, its stages, its folder."""
