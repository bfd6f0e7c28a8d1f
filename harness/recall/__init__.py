"""The recall meter on the command line: from a file of interactions to every recall of a model."""
