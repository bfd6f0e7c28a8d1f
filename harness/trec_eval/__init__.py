"""What trec_eval prints, under its names, and exports that it reads."""
