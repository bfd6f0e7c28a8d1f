"""Where relevant or hidden items stand: full and hidden ranks."""
