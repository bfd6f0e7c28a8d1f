"""One metric per file; this folder is the list."""
