"""Rules of hearing: what a message is, whom it addresses, and whether it is answered."""
