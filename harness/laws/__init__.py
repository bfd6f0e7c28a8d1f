"""Laws for metrics: what one may expect of any metric, checked by searching for the contrary."""
