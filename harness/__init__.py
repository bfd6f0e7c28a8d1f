"""The harness: a study of ranking metrics, from its definition to its report."""
