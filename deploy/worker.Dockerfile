# A worker with the programs of agents. It is built on the image of the cluster, which has everything else:
#   docker build -f deploy/worker.Dockerfile -t supervisor-worker .
# One program less, or a version: --build-arg PROGRAMS="@anthropic-ai/claude-code@2"
ARG BASE=supervisor-control-plane:local
FROM ${BASE}
ARG PROGRAMS="@anthropic-ai/claude-code @openai/codex @google/gemini-cli"
USER root
# Where the programs of a sandbox are looked for.
RUN npm install -g --prefix /usr/local ${PROGRAMS} && npm cache clean --force
USER node
