"""An experiment as a study: its file, its run, its page."""
