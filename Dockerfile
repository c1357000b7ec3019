# Build: everything, then the compiled program with its runtime dependencies only.
# By digest: a tag may be moved. docs/operations.md, Containers, says how to renew it.
ARG NODE_IMAGE=node:24-bookworm-slim@sha256:6f7b03f7c2c8e2e784dcf9295400527b9b1270fd37b7e9a7285cf83b6951452d
FROM ${NODE_IMAGE} AS build
WORKDIR /app
# Before the source, so that a change of that installs nothing again.
COPY package.json package-lock.json ./
RUN npm ci --include=dev
COPY . .
# The empty database that embedded storage begins with is copied by another user than made it.
RUN node scripts/setup.mjs && npm prune --omit=dev && chmod -R go=rX node_modules/.signpost

FROM ${NODE_IMAGE}
# By itself it is everything in one, with embedded storage in a volume; where DATABASE_URL is set, nothing is kept there.
ENV NODE_ENV=production HOST=0.0.0.0 DATA_DIR=/data
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/bin ./bin
COPY --from=build /app/dist ./dist
COPY --from=build /app/src/dashboard/assets ./src/dashboard/assets
COPY --from=build /app/prisma/migrations ./prisma/migrations
RUN mkdir -m 700 /data && chown node:node /data
VOLUME /data
USER node
# The API, and the edge by its defaults.
EXPOSE 3000 8080 8443
# The larger young generation is worth a fifth of a worker's throughput (docs/performance.md).
CMD ["node", "--enable-source-maps", "--max-semi-space-size=64", "dist/src/main.js"]
