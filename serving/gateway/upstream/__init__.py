"""The gateway's HTTP client: raw enough that an event costs one read and one write."""
