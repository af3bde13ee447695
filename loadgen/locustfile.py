"""The load as locust sees it: one user that plays a timetable, and locust's own table and UI fed from it.

Owns: locust's arguments and events. Knows nothing about how requests are sent or measured.

    locust -f loadgen/locustfile.py --headless -H http://127.0.0.1:8000 --workload FILE [--out DIR]
"""

from __future__ import annotations

import logging
import os
import signal
import sys
from pathlib import Path
from typing import Any

import gevent
from locust import User, events, task
from locust.runners import LocalRunner

from loadgen.prepare import Request, default_folder, load_workload, prepare
from loadgen.results import conclude
from loadgen.run_folder import RunFolder
from loadgen.sender import PARENT_VARIABLE
from loadgen.session import Session, as_locust_row
from loadgen.target import key_from, parse_target
from serving.errors import EXIT_FAILED, EXIT_OK, EXIT_SIGINT, EXIT_USAGE, TeapotError

PRIORITY = -10
"""Beside an engine that keeps all cores busy, sends and stamps at priority 0 come some ms late."""

log = logging.getLogger("teapot.load")
_sessions: dict[int, Session] = {}


def add_arguments(parser: Any) -> None:
    """What a run needs beside locust's own options."""
    parser.add_argument("--workload", help="workload file", include_in_web_ui=False)
    parser.add_argument("--out", help="run folder (default: runs/<time>-<name>)", include_in_web_ui=False)
    parser.add_argument("--run-dir", help="send a prepared run folder", include_in_web_ui=False)
    parser.add_argument(
        "--metrics", action="append", default=[], help="a server's /metrics URL", include_in_web_ui=False
    )


def check_start(environment: Any, **_: Any) -> None:
    """Refuse what this version cannot do truly, and take over Ctrl-C."""
    options = environment.parsed_options
    if not isinstance(environment.runner, LocalRunner):
        _refuse("several processes (--processes, --master, --worker) are not there yet; leave the option out")
    if not (options.workload or options.run_dir):
        _refuse("no workload; give --workload FILE")
    # A KeyboardInterrupt would break whichever greenlet runs: SIGTERM reaches locust's orderly shutdown.
    gevent.signal_handler(signal.SIGINT, os.kill, os.getpid(), signal.SIGTERM)
    _go_first()
    if PARENT_VARIABLE in os.environ:
        gevent.spawn(_end_with_parent, int(os.environ[PARENT_VARIABLE]))


def stop_sending(environment: Any, **_: Any) -> None:
    """Drain before locust ends its users: Ctrl-C, SIGTERM, --run-time and the UI's stop come through here."""
    session = _sessions.get(id(environment))
    if session is not None:
        session.stop()


class TimetableUser(User):
    """The only user: its one task is the whole run, however many requests are in flight."""

    fixed_count = 1

    @task
    def play(self) -> None:
        """Prepare the run folder if there is none, send it, and say how it went."""
        run = gevent.spawn(_play, self.environment)
        try:
            run.join()
        finally:
            if run.ready():
                _end(self.environment)
        gevent.sleep(float("inf"))


def _play(environment: Any) -> None:
    options = environment.parsed_options
    try:
        folder = RunFolder(Path(options.run_dir)) if options.run_dir else _prepared(environment)
        session = Session(
            folder, heard=lambda record: environment.events.request.fire(**as_locust_row(record))
        )
        _sessions[id(environment)] = session
        ended = session.run()
        environment.process_exit_code = EXIT_SIGINT if ended == "interrupted" else EXIT_OK
        if not options.run_dir:
            result = conclude(folder)
            sys.stdout.write(result.table + "\n")
            log.info("the run is in %s", folder.path)
            environment.process_exit_code = environment.process_exit_code or result.exit_code
    except TeapotError as error:
        log.error("%s", error)
        environment.process_exit_code = error.exit_code
    except Exception:
        log.exception("the run failed")
        environment.process_exit_code = EXIT_FAILED


def _prepared(environment: Any) -> RunFolder:
    options = environment.parsed_options
    workload = load_workload(Path(options.workload))
    request = Request(
        workload=workload,
        target=parse_target(environment.host or "http://127.0.0.1:8000", api_key=key_from(os.environ)),
        out=Path(options.out) if options.out else default_folder(workload),
        metrics_urls=tuple(options.metrics),
    )
    return prepare(request, say=log.warning)


def _end(environment: Any) -> None:
    """End locust itself in headless mode; with the UI, end the test and wait for the next."""
    _sessions.pop(id(environment), None)
    runner = environment.runner
    gevent.spawn(runner.quit if environment.parsed_options.headless else runner.stop)


def _end_with_parent(parent: int) -> None:
    while os.getppid() == parent:
        gevent.sleep(1.0)
    os.kill(os.getpid(), signal.SIGTERM)


def _go_first() -> None:
    """Take a core before others do, where we may: a generator that waits for one measures its own waiting."""
    try:
        os.setpriority(os.PRIO_PROCESS, 0, PRIORITY)
    except OSError:
        log.info("running at ordinary priority: raising it needs root or CAP_SYS_NICE")


def _refuse(what: str) -> None:
    log.error("%s", what)
    sys.exit(EXIT_USAGE)


_hooks: Any = events
_hooks.init_command_line_parser.add_listener(add_arguments)
_hooks.init.add_listener(check_start)
_hooks.test_stopping.add_listener(stop_sending)
_hooks.quitting.add_listener(stop_sending)
