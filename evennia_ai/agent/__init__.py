"""A turn from the incoming message to the answer, and turns that an assistant begins by itself."""
