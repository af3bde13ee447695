from __future__ import annotations

import json

from serving.gateway.answers import Refused, document, json_response, retry_after


def test_a_refusal_is_the_same_error_as_an_answer_and_as_an_event() -> None:
    refused = Refused(503, "come back", code="later", headers=retry_after(3))
    response = refused.response("mine")
    assert (response.status, response.headers["Retry-After"]) == (503, "3")
    assert (response.headers["X-Request-Id"], response.headers["Server"]) == ("mine", "teapot")
    assert isinstance(response.body, bytes)
    error = json.loads(response.body)
    assert error["error"]["message"] == "come back"
    assert error["error"]["code"] == "later"
    event = refused.event()
    assert (event[:6], event[-2:]) == (b"data: ", b"\n\n")
    assert json.loads(event[6:]) == error


def test_a_json_answer_says_so() -> None:
    assert json_response(200, b"{}", "mine").headers["Content-Type"] == "application/json"
    assert document({"a": "é"}) == '{"a": "é"}'.encode()
