"""The load as locust sees it: its arguments, events and web UI, and a user that only keeps it running.

Owns: what of locust is used, and which part this process has: all of a run, its lead, or a share of it.
Knows nothing about how requests are sent or measured.

    locust -f loadgen/locustfile.py --headless -H http://127.0.0.1:8000 --workload FILE [--out DIR]
    locust -f loadgen/locustfile.py --processes 4 ...        or --master / --worker on several machines
"""

from __future__ import annotations

import logging
import os
import signal
import sys
from pathlib import Path
from typing import Any

import gevent
from locust import User, events, runners, task
from locust.runners import LocalRunner, MasterRunner, WorkerRunner

from loadgen import web_tab
from loadgen.follow import Follow
from loadgen.messages import FROM_WORKERS, TO_WORKERS
from loadgen.play import Play
from loadgen.prepare import Request, default_folder, load_workload, prepare
from loadgen.priority import go_first
from loadgen.reading import Heard
from loadgen.run_folder import RunFolder, first_free
from loadgen.sender import PARENT_VARIABLE
from loadgen.session import as_locust_row
from loadgen.target import key_from, parse_target
from serving.errors import EXIT_FAILED, EXIT_OK, EXIT_SIGINT, EXIT_USAGE, TeapotError

LIVE_KEY = "teapot_live"
LOOPBACK = "127.0.0.1"
REPORT_EVERY_S = 1.0
"""Workers of locust report every three seconds; what is looked at each second should be of that second."""

log = logging.getLogger("teapot.load")
_plays: dict[int, Play] = {}
_follows: dict[int, Follow] = {}
_running: dict[int, gevent.Greenlet] = {}


def add_arguments(parser: Any) -> None:
    """What a run needs beside locust's own options."""

    def add(name: str, text: str, **more: Any) -> None:
        parser.add_argument(name, help=text, include_in_web_ui=False, **more)

    add("--workload", "workload file")
    add("--out", "run folder (default: runs/<time>-<name>)")
    add("--run-dir", "send a prepared run folder")
    add("--metrics", "a server's /metrics URL", action="append", default=[])
    add("--discovery", "folder of target files: a Prometheus that reads it scrapes this generator")
    add("--exporter-port", "port of this generator's own metrics: a number, 'auto' or 'off'", default="auto")
    # Locust would listen everywhere: to anyone who can start a load, or claim to be a worker.
    parser.set_defaults(web_host=LOOPBACK, master_bind_host=LOOPBACK)


def set_up(environment: Any, **_: Any) -> None:
    """Take over Ctrl-C, and become what locust's runner says: all, lead or worker."""
    runner = environment.runner
    if go_first() == "ordinary":
        log.info("running at ordinary priority: raising it needs root or CAP_SYS_NICE")
    if isinstance(runner, WorkerRunner):
        _follow(environment, runner)
        return
    options = environment.parsed_options
    if not (options.workload or options.run_dir):
        log.error("no workload; give --workload FILE")
        sys.exit(EXIT_USAGE)
    play = _plays[id(environment)] = Play(
        say=log.warning,
        show=_terminal if options.headless else _nowhere,
        discovery=Path(options.discovery) if options.discovery else None,
    )
    if isinstance(runner, MasterRunner):
        play.lead_through(_Wire(runner))
        _hear_workers(environment, runner, play)
    if environment.web_ui is not None:
        web_tab.register(environment.web_ui, lambda: play.history)
    # A KeyboardInterrupt would break whichever greenlet runs: SIGTERM reaches locust's orderly shutdown.
    gevent.signal_handler(signal.SIGINT, os.kill, os.getpid(), signal.SIGTERM)
    if PARENT_VARIABLE in os.environ:
        gevent.spawn(_end_with_parent, int(os.environ[PARENT_VARIABLE]))


def begin(environment: Any, **_: Any) -> None:
    """Start the run when locust starts: headless at once, from the UI when its button is pressed."""
    if id(environment) in _plays:
        _plays[id(environment)].begin()
        _running[id(environment)] = gevent.spawn(_play, environment, _plays[id(environment)])


def stop_sending(environment: Any, **_: Any) -> None:
    """Drain before locust ends its users: Ctrl-C, SIGTERM, --run-time and the UI's stop come through here."""
    play = _plays.get(id(environment))
    if play is not None:
        play.stop()
        # Its exit code and its summary come before locust's end.
        gevent.joinall([run for run in (_running.get(id(environment)),) if run is not None])


def leave(environment: Any, **_: Any) -> None:
    """A worker that is to quit waits until it has told what it did."""
    follow = _follows.get(id(environment))
    if follow is not None:
        follow.stop()
        while follow.playing:
            gevent.sleep(0.05)
        gevent.sleep(0.2)  # for its last message to leave


class TimetableUser(User):
    """What locust needs to be running; the run itself is in no user."""

    fixed_count = 1

    @task
    def stay(self) -> None:
        """Be there until locust stops its users."""
        gevent.sleep(float("inf"))


class _Wire:
    """The workers of a locust master, for a lead."""

    def __init__(self, runner: Any) -> None:
        self._runner = runner

    def workers(self) -> list[str]:
        """Ids of those that can send, in the order of their numbers."""
        clients = self._runner.clients
        ids = [client.id for client in (*clients.ready, *clients.spawning, *clients.running)]
        return sorted(ids, key=self._runner.get_worker_index)

    def alive(self, worker: str) -> bool:
        """Whether locust still hears of it."""
        client = self._runner.clients.get(worker)
        return client is not None and client.state != "missing"

    def tell(self, kind: str, data: Any, worker: str) -> None:
        """Send a message."""
        self._runner.send_message(kind, dict(data), client_id=worker)


def _hear_workers(environment: Any, runner: Any, play: Play) -> None:
    def listener(kind: str) -> Any:
        return lambda environment, msg, **_: play.hear(kind, msg.node_id, msg.data)

    for kind in FROM_WORKERS:
        runner.register_message(kind, listener(kind))

    def reported(client_id: str, data: dict[str, Any]) -> None:
        if LIVE_KEY in data:
            play.hear_live(client_id, data[LIVE_KEY])

    environment.events.worker_report.add_listener(reported)


def _follow(environment: Any, runner: Any) -> None:
    follow = _follows[id(environment)] = Follow(
        say=lambda kind, data: runner.send_message(kind, dict(data)), heard=_fire(environment)
    )

    def listener(kind: str) -> Any:
        return lambda environment, msg, **_: follow.hear(kind, msg.data)

    runners.WORKER_REPORT_INTERVAL = REPORT_EVERY_S
    for kind in TO_WORKERS:
        runner.register_message(kind, listener(kind))

    def report(client_id: str, data: dict[str, Any]) -> None:
        if follow.playing:
            data[LIVE_KEY] = follow.live().to_wire()

    environment.events.report_to_master.add_listener(report)
    # The leading process says when to stop; a Ctrl-C that reaches all of a terminal must not be quicker.
    gevent.signal_handler(
        signal.SIGINT, lambda: follow.stop() if follow.playing else os.kill(os.getpid(), signal.SIGTERM)
    )


def _fire(environment: Any) -> Any:
    def fire(heard: Heard) -> None:
        environment.events.request.fire(**as_locust_row(heard))

    return fire


def _play(environment: Any, play: Play) -> None:
    options = environment.parsed_options
    try:
        folder = RunFolder(Path(options.run_dir)) if options.run_dir else _prepared(environment)
        heard = _fire(environment) if isinstance(environment.runner, LocalRunner) else _nowhere
        ended = play.run(folder, heard=heard, exporter_port=options.exporter_port)
        environment.process_exit_code = EXIT_SIGINT if ended == "interrupted" else EXIT_OK
        if not options.run_dir:
            # Behind the import wall of a sending process: charts and tables are not needed to send.
            from loadgen.results import conclude

            result = conclude(folder)
            sys.stdout.write(result.table + "\n")
            log.info("the run is in %s", folder.path)
            environment.process_exit_code = environment.process_exit_code or result.exit_code
    except TeapotError as error:
        log.error("%s", error)
        _show_failure(environment, str(error))
        environment.process_exit_code = error.exit_code
    except Exception as error:
        log.exception("the run failed")
        _show_failure(environment, f"{type(error).__name__}: {error}")
        environment.process_exit_code = EXIT_FAILED
    finally:
        _end(environment)


def _show_failure(environment: Any, text: str) -> None:
    """Whoever started the run in the UI looks there and not at the log: it goes among its exceptions."""
    environment.runner.log_exception("teapot", text, text)


def _prepared(environment: Any) -> RunFolder:
    options = environment.parsed_options
    workload = load_workload(Path(options.workload))
    out = Path(options.out) if options.out else default_folder(workload)
    request = Request(
        workload=workload,
        target=parse_target(environment.host or "http://127.0.0.1:8000", api_key=key_from(os.environ)),
        # The web UI's button starts one run after the other with the same arguments.
        out=out if options.headless else first_free(out),
        metrics_urls=tuple(options.metrics),
    )
    return prepare(request, say=log.warning)


def _end(environment: Any) -> None:
    """End locust itself in headless mode; with the UI, end the test and wait for the next."""
    runner = environment.runner
    gevent.spawn(runner.quit if environment.parsed_options.headless else runner.stop)


def _end_with_parent(parent: int) -> None:
    while os.getppid() == parent:
        gevent.sleep(1.0)
    os.kill(os.getpid(), signal.SIGTERM)


def _terminal(text: str) -> None:
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[2K" + text)
        sys.stderr.flush()


def _nowhere(_: Any) -> None:
    pass


_hooks: Any = events
_hooks.init_command_line_parser.add_listener(add_arguments)
_hooks.init.add_listener(set_up)
_hooks.test_start.add_listener(begin)
_hooks.test_stopping.add_listener(stop_sending)
_hooks.quitting.add_listener(stop_sending)
_hooks.quitting.add_listener(leave)
