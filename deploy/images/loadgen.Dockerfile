# The load generator under locust: its own page and workers, or headless.
# Build from the repository's top: docker build -f deploy/images/loadgen.Dockerfile -t teapot-loadgen .
FROM python:3.11-slim-bookworm

COPY . /src
RUN pip install --no-cache-dir --constraint /src/deploy/constraints.txt "/src[loadgen]" && rm -r /src \
    && useradd --create-home --uid 10001 teapot \
    && mkdir -p /home/teapot/runs /targets && chown teapot: /home/teapot/runs /targets \
    && ln -s "$(python3 -c 'import loadgen.locustfile as f; print(f.__file__)')" /usr/local/share/teapot-locustfile.py

USER teapot
WORKDIR /home/teapot
ENV TMPDIR=/var/tmp PYTHONDONTWRITEBYTECODE=1
EXPOSE 8089 5557
STOPSIGNAL SIGINT
ENTRYPOINT ["locust", "-f", "/usr/local/share/teapot-locustfile.py"]
