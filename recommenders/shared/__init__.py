"""What the systems share: register, settings, scorers, ranks of items, and LensKit components."""
