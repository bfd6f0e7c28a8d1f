"""What a finished study shows: its page, tables, figures, cards."""
