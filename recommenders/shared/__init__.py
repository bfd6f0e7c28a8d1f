"""What the systems share: their register, scoring kernels, and the road to LensKit and back."""
