"""What loss of judgements does to orderings: what several analyses have in common."""
