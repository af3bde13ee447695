"""The same deployment file, as the files of other ways to run it. Each says what it could not carry over."""
