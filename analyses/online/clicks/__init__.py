"""Click-through rates of the arms of an experiment, from its logs: asked, printed, kept."""
