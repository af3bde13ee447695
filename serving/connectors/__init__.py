"""KV connectors, one a file: their configuration and the legs of their protocol."""
