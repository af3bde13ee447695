"""The bottom package: facts, modes, configuration, the engine room and the gateway."""
