"""Series to spikes: when a service was slow. Pure: what comes in decides what comes out."""
