import { withDashboard } from '../dashboard/dashboard.ts';
import { createAuthenticate } from '../http/keys/auth.ts';
import { createKeyUsage } from '../http/keys/key-usage.ts';
import { openRateLimiters } from '../http/limits/rate-limit.ts';
import { type Api, createApi } from '../http/pipeline/api.ts';
import type { DropTraffic } from '../http/routes/domains.ts';
import { routesOf } from '../http/routes/every-route.ts';
import { createStreams } from '../http/routes/streams.ts';
import { listenHttp } from '../http/socket/server.ts';
import { defaultConnectionLimits, descriptorLimit, shareDescriptors } from '../net/connections.ts';
import type { ReadReadiness } from '../ops/readiness.ts';
import type { Closing } from '../service/opened.ts';
import type { Service } from '../service/service.ts';

/** What the process has beside the service. */
type Around = {
  readonly readiness: ReadReadiness;
  readonly dropTraffic: DropTraffic;
  /** Gets what must run before the database is closed. */
  readonly closings: Closing[];
};

/** Opens no port: the result is callable without a socket. */
function openApi(service: Service, { readiness, dropTraffic, closings }: Around): Api {
  const authenticate = createAuthenticate(service);
  const limits = openRateLimiters(service);
  const usage = createKeyUsage(service);
  const streams = createStreams(service, authenticate);
  const routes = routesOf(service, {
    readiness,
    dropTraffic,
    forget: authenticate.forget,
    openStream: streams.open,
  });
  closings.push(async () => {
    streams.close();
    await Promise.all([usage.close(), limits.close()]);
  });
  const api = createApi(service, routes, { authenticate, limits, usage });
  return withDashboard(service, api, { forget: authenticate.forget, signIns: limits.signIns });
}

/** The URL has no trailing slash. Rejects if the port cannot be opened. */
export async function startApi(
  service: Service,
  around: Around,
): Promise<{ api: Api; address: string }> {
  const api = openApi(service, around);
  const { config, ownPorts } = service;
  const { host, port } = config.http;
  const { trustedProxies } = config.api;
  const total = Math.min(defaultConnectionLimits.total, shareDescriptors(descriptorLimit()).api);
  const connections = { ...defaultConnectionLimits, total };
  const server = await listenHttp(api, { host, port, trustedProxies, connections });
  around.closings.push((deadlineMs) => server.close(deadlineMs));
  ownPorts.inside.add(server.address.port);
  const name = host.includes(':') ? `[${host}]` : host;
  return { api, address: `http://${name}:${server.address.port}` };
}
