"""Tables of scores and of means that were made elsewhere."""
