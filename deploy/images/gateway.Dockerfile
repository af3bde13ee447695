# The gateway alone, in front of engines elsewhere: `teapot serve` with a file whose revisions all have urls.
# Build from the repository's top: docker build -f deploy/images/gateway.Dockerfile -t teapot-gateway .
FROM python:3.11-slim-bookworm

COPY . /src
RUN pip install --no-cache-dir --constraint /src/deploy/constraints.txt /src && rm -r /src \
    && useradd --create-home --uid 10001 teapot

USER teapot
WORKDIR /home/teapot
# The container's own file system is read-only: what is written goes to the scratch folder that compose gives it.
ENV TMPDIR=/var/tmp TEAPOT_HOME=/var/tmp/teapot PYTHONDONTWRITEBYTECODE=1
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=6s --start-period=30s \
    CMD ["python3", "-c", "import urllib.request as r; r.urlopen('http://127.0.0.1:8000/health/live', timeout=5)"]
ENTRYPOINT ["teapot"]
CMD ["serve", "/etc/teapot/gateway.yaml"]
