"""Boards drawn without Grafana, to be looked at in review and in CI: one page, and a picture for each board.

It draws what `dashboards.panels` says where `dashboards.layout` puts it. It is no Grafana: what Grafana would
make of a board's JSON, only Grafana shows.
"""
