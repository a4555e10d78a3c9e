"""Records: the store of verified constructions, and their exchange as files."""
