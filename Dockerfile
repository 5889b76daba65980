# syntax=docker/dockerfile:1
# Reticent in a container: `docker build --target core -t reticent .` (the command line) or `--target full` (all extras, audited SQL over HTTP).
# It runs as an ordinary user, with a read-only root, and needs no network: docker run --rm --read-only --network none --tmpfs /tmp -v "$PWD:/data" reticent gate ...
ARG PYTHON=3.12

FROM python:${PYTHON}-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY docs docs
COPY src src
RUN python -m venv /opt/reticent \
    && /opt/reticent/bin/pip install --no-cache-dir --disable-pip-version-check . \
    && cp -a /opt/reticent /opt/reticent-full \
    && sed -i 's|/opt/reticent|/opt/reticent-full|' /opt/reticent-full/bin/* /opt/reticent-full/pyvenv.cfg \
    && /opt/reticent-full/bin/pip install --no-cache-dir --disable-pip-version-check '.[web,postgres,formats,databases,detect,models,charts,noise,mcp]'

FROM python:${PYTHON}-slim AS base
RUN useradd --uid 10001 --create-home --home-dir /home/reticent --shell /usr/sbin/nologin reticent \
    && mkdir /data /ledger \
    && chown reticent:reticent /data /ledger
# Compiled kernels, settings and temporary files go to /tmp, a tmpfs where the root is read-only; the ledger has a volume of its own.
ENV RETICENT_LEDGER=/ledger/ledger.sqlite \
    NUMBA_CACHE_DIR=/tmp/numba \
    HOME=/tmp \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
VOLUME ["/data", "/ledger"]
WORKDIR /data
STOPSIGNAL SIGTERM

FROM base AS core
COPY --from=build /opt/reticent /opt/reticent
ENV PATH=/opt/reticent/bin:$PATH
USER 10001:10001
ENTRYPOINT ["reticent"]
CMD ["--help"]

FROM base AS full
COPY --from=build /opt/reticent-full /opt/reticent-full
ENV PATH=/opt/reticent-full/bin:$PATH
USER 10001:10001
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s --retries=3 \
    CMD ["python", "-c", "import json, urllib.request; assert json.load(urllib.request.urlopen('http://127.0.0.1:8000/v1/health', timeout=2))['ok']"]
ENTRYPOINT ["reticent"]
CMD ["--help"]
