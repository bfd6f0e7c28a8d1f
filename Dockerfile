# The program with CPU torch, for any user and a read-only root file system. No engine was at hand: it
# was not built. The wheel of the first RUN line was installed by hand, without torch.
#
#   docker build --tag harness .
#   docker run --rm --read-only --tmpfs /tmp --user "$(id -u):$(id -g)" --volume "$PWD:/data" harness run study.toml

FROM python:3.13-slim AS build
COPY . /source
RUN python -m pip wheel --no-deps --wheel-dir /wheels /source

FROM python:3.13-slim
COPY --from=build /wheels /wheels
COPY constraints.txt /wheels/
# PyPI's torch brings 5 GB of CUDA.
RUN python -m pip install --no-cache-dir --extra-index-url https://download.pytorch.org/whl/cpu \
    --constraint /wheels/constraints.txt "$(ls /wheels/*.whl)[recommenders,check,tune]"
# What is written beside results: configuration of matplotlib, compiled loops of numba, temporary files.
ENV HOME=/tmp MPLCONFIGDIR=/tmp/matplotlib NUMBA_CACHE_DIR=/tmp/numba PYTHONDONTWRITEBYTECODE=1
WORKDIR /data
ENTRYPOINT ["harness"]
CMD ["--help"]
