"""One sub-command of `teapot` a file: configure(parser), run(args, console) -> exit code."""
