# A node of PostgreSQL with Patroni, and etcd: docker-compose.ha.yml starts both from it. Its packages come from where the image has PostgreSQL from.
ARG BASE=postgres:18-bookworm
FROM ${BASE}
USER root
RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -y --no-install-recommends patroni python3-etcd etcd-server etcd-client \
 && rm -rf /var/lib/apt/lists/* \
 && mkdir -p /var/lib/etcd/data && chown -R postgres /var/lib/etcd && chmod 700 /var/lib/etcd/data
COPY deploy/patroni.yml /etc/patroni.yml
USER postgres
ENV PATRONICTL_CONFIG_FILE=/etc/patroni.yml
ENTRYPOINT []
CMD ["patroni", "/etc/patroni.yml"]
