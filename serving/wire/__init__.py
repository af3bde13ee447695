"""What travels between client, gateway and engine, read and written without I/O."""
