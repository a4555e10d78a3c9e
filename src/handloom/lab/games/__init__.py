"""Claims about learning to play, and the games they are tried on."""
