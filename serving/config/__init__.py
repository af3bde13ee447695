"""The deployment file: its schema, how it is read, and the engine commands it becomes."""
