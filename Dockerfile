# Build: everything, then the compiled program with its runtime dependencies only.
FROM node:24-bookworm-slim AS build
WORKDIR /app
COPY . .
# Shown beside the version: docker build --build-arg COMMIT=$(git rev-parse --short HEAD)
ARG COMMIT
RUN node scripts/setup.mjs && npm prune --omit=dev

FROM node:24-bookworm-slim
ENV NODE_ENV=production
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/bin ./bin
COPY --from=build /app/dist ./dist
COPY --from=build /app/src/dashboard/assets ./src/dashboard/assets
COPY --from=build /app/prisma/migrations ./prisma/migrations
USER node
EXPOSE 3000 80 443
# The larger young generation is worth a fifth of a worker's throughput (docs/measured/performance.md).
CMD ["node", "--enable-source-maps", "--max-semi-space-size=64", "dist/src/main.js"]
