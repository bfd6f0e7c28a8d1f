"""Tables of click-through rates and of offline values, and how they are put together."""
