"""What the systems share: their register, scoring kernels, and the bridge to LensKit and back."""
