"""What everybody stands on: errors, files, ids, random streams, progress."""
