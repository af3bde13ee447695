"""Facts as data, each row with its source and date, and the pure readers that give them types."""
