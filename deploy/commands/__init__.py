"""One sub-command of `teapot` a file: HELP, configure(parser), run(args, console) -> exit code."""
