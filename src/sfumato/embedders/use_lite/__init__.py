"""Universal Sentence Encoder Lite from its npm package, computed with numpy alone."""
