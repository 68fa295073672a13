"""How well recurring lessons are told from those that merely look alike."""
