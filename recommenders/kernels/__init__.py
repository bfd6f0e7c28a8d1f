"""What several systems compute alike."""
