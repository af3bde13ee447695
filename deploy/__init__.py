"""The top package: the `teapot` command and what it composes of serving and loadgen."""
