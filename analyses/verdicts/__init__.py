"""How what is measured compares with the truth: pairs, choices, what chance allows, and loss."""
