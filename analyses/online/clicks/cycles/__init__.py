"""How click-through rates rise and fall by the hour and the weekday."""
