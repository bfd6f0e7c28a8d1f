"""Whether offline measures order models as click-through rates do, and as well as by chance."""
