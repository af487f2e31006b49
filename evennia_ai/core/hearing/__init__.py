"""The rules of hearing: what a message is, whom it means, and whether it is answered."""
