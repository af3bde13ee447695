from loadgen.report.lanes import Lanes, in_flight


def test_requests_that_overlap_have_lanes_of_their_own_and_lanes_are_used_again(answer):
    spans = [(0, 100), (50, 80), (90, 120), (100, 130)]
    records = [answer(i, t_sent_ns=sent, t_end_ns=end) for i, (sent, end) in enumerate(spans)]

    lanes = Lanes.of(list(reversed(records)))

    assert [(record.index, lane) for record, lane in lanes.placed] == [(0, 0), (1, 1), (2, 1), (3, 0)]
    assert lanes.count == 2


def test_nothing_needs_no_lane():
    assert Lanes.of([]).count == 0


def test_requests_in_flight_are_counted_at_every_change(answer):
    records = [answer(i, t_sent_ns=sent, t_end_ns=end) for i, (sent, end) in enumerate([(0, 100), (50, 100)])]

    assert in_flight(records) == [(0, 1), (50, 2), (100, 0)]


def test_an_end_and_a_start_at_one_moment_are_one_change(answer):
    records = [
        answer(i, t_sent_ns=sent, t_end_ns=end) for i, (sent, end) in enumerate([(0, 100), (100, 200)])
    ]

    assert in_flight(records) == [(0, 1), (100, 1), (200, 0)]
