# syntax=docker/dockerfile:1
# The `countersign` command in an image. docs/guides/docker.md says how to use it, and `npm run test:image` runs its steps.

FROM node:22-bookworm-slim AS build
WORKDIR /src
COPY . .
RUN npx --yes pnpm@12.21.0 install --frozen-lockfile
RUN npx --yes pnpm@12.21.0 exec tsc -b packages/cli && npx --yes pnpm@12.21.0 run build:page
# Only the command and what it needs at run time.
RUN npx --yes pnpm@12.21.0 --filter countersign deploy --prod --legacy /app

FROM node:22-bookworm-slim
# In a container, only what is published with -p can be reached from outside. Such an address needs COUNTERSIGN_TOKEN.
ENV NODE_ENV=production COUNTERSIGN_HOST=0.0.0.0 COUNTERSIGN_DATA=/data
COPY --from=build /app /app
# A new volume takes its owner from this folder.
RUN mkdir /data && chown node:node /data && chmod 700 /data
USER node
WORKDIR /data
VOLUME /data
EXPOSE 4010
# Of `serve`, and of `work --port 4010`. /healthz needs no token. Without a second Node: that would need half a second of a processor, and
# tens of megabytes of what the container may have, every time.
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/4010 && printf 'GET /healthz HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n' >&3 && read -r _ status _ <&3 && [ \"$status\" = 200 ]"]
ENTRYPOINT ["node", "/app/dist/bin.js"]
CMD ["serve"]
