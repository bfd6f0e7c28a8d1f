"""Sampled metrics on the command line and in studies: what is asked, printed, drawn and kept."""
