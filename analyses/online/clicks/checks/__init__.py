"""Whether a log may be believed: one check per file."""
