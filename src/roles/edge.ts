import { listenForRouteNotifications } from '../db/domains/route-notifications.ts';
import { createEdge, type Edge, type EdgePorts } from '../edge/edge.ts';
import { isLoopback } from '../net/client-address.ts';
import type { Closing } from '../service/opened.ts';
import type { Service } from '../service/service.ts';

export type StartedEdge = { readonly ports: EdgePorts; readonly notify: Edge['notify'] };

/** Adds its shutdown to `closings`. Rejects if a port cannot be opened. */
export async function startEdge(service: Service, closings: Closing[]): Promise<StartedEdge> {
  const { config, database, edgePool, log, ownPorts } = service;
  const { caddy } = config.edge;
  if (caddy !== undefined && !isLoopback(caddy.address)) {
    const { address } = caddy;
    log.warn({ address }, 'EDGE_CADDY_ADDRESS is not loopback: private keys travel over it');
  }
  const edge = createEdge(service);
  closings.push((deadlineMs) => edge.close(deadlineMs));
  const ports = await edge.listen({ host: config.http.host, ...config.edge });
  for (const port of [ports.httpPort, ports.httpsPort]) ownPorts.edge.add(port);
  if (ports.gatewayPort !== undefined) ownPorts.inside.add(ports.gatewayPort);
  // After opening the ports: without notifications, the edge detects changes itself.
  const notifications = listenForRouteNotifications({
    database: { pool: edgePool, openPool: database.openPool },
    log,
    onNotification: edge.notify,
  });
  closings.push(() => notifications.close());
  return { ports, notify: edge.notify };
}
