# attn-drill with a CPU build of torch, for a user without rights. docs/install.md shows how to run it.
FROM python:3.12-slim AS wheel
COPY . /source
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheel /source

FROM python:3.12-slim
RUN --mount=from=wheel,source=/wheel,target=/wheel \
    pip install --no-cache-dir uv \
    && uv pip install --system --no-cache --torch-backend cpu /wheel/*.whl \
    && pip uninstall --yes uv \
    && useradd --create-home drill \
    && install --directory --owner drill /work /home/drill/.attn-drill
# The folder of the journal: mount a volume here to keep it.
ENV ATTN_DRILL_HOME=/home/drill/.attn-drill
USER drill
WORKDIR /work
ENTRYPOINT ["attn-drill"]
