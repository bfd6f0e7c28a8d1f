"""Where relevant or hidden items stand: full, sampled and hidden ranks."""
