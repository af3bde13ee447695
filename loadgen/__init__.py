"""The load generator: workload to timetable to records to summary to report, each arrow a file."""
