"""Language models of users and items, and what is likely under them."""
