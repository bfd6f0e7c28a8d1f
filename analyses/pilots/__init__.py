"""What a pilot of users tells of the users needed: its numbers, tables and sentences."""
