"""What all packages share: errors, files, ids, random streams, progress."""
