"""What the analyses have in common."""
