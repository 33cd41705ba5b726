# The gateway. Run `make release-check` first: the image takes the wheel from dist/ and checks its sum.
# For a release, name the base by its digest: --build-arg PYTHON=python:3.11-slim-bookworm@sha256:...
ARG PYTHON=python:3.11-slim-bookworm

FROM ${PYTHON} AS build
WORKDIR /build
COPY requirements/gateway.txt dist/SHA256SUMS dist/sfumato-*.whl ./
# Wheels with known hashes only: nothing is compiled, and no package's own code runs here.
RUN sha256sum --check --strict --ignore-missing SHA256SUMS \
    && python -m venv /opt/sfumato \
    && /opt/sfumato/bin/pip install --no-cache-dir --require-hashes --no-deps --only-binary :all: -r gateway.txt \
    && /opt/sfumato/bin/pip install --no-cache-dir --no-index --no-deps sfumato-*.whl

FROM ${PYTHON}
RUN groupadd --gid 10001 sfumato \
    && useradd --uid 10001 --gid 10001 --no-create-home --home-dir /state --shell /usr/sbin/nologin sfumato \
    && install --directory --mode 0700 --owner 10001 --group 10001 /state
COPY --from=build /opt/sfumato /opt/sfumato
ENV PATH=/opt/sfumato/bin:$PATH PYTHONDONTWRITEBYTECODE=1
USER 10001:10001
WORKDIR /state
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import urllib.request as web; web.urlopen('http://127.0.0.1:8000/health', timeout=4)"]
ENTRYPOINT ["sfumato"]
# Secrets are files: keys below /run/secrets, the secret of the noise in the volume /state. None is in the image.
CMD ["serve", "--host", "0.0.0.0", "--protector", "/protector", "--keys", "/run/secrets/keys.json", "--state", "/state"]
