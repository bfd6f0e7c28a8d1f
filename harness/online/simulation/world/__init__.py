"""Who comes when, what is likely to be clicked, and what a visit leaves."""
