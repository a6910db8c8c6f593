"""Running compiled kernels: argument descriptions, checks of one call, launches. Nothing here knows what a kernel means."""
