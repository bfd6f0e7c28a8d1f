"""The search for models that differ clearly in quality."""
