"""The engine room: environments, model files, child processes, readiness and attestation."""
