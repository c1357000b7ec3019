/** The edge role: the listener that serves customers' domains, and what it asks of everybody else. */

import { createProofCertificates } from '../certificates/served/proof-certificate.ts';
import { createTicketKeys } from '../certificates/vault/derived-secrets.ts';
import { sealOf } from '../certificates/vault/keys.ts';
import { isLoopback } from '../core/names/reserved-addresses.ts';
import { listenForRouteNotifications } from '../db/domains/route-notifications.ts';
import { createAwayProbe } from '../db/engine/unavailable.ts';
import { createEdge, type Edge, type EdgePorts } from '../edge/edge.ts';
import { keepCertificates } from '../edge/tls/secure-contexts.ts';
import { trustedProxies } from '../net/client-address.ts';
import { descriptorLimit, shareDescriptors } from '../net/connections.ts';
import type { Closing, Parts } from './parts.ts';

/** Our choice, at both ports together: about 50 KB each, with its handshake. */
const CONNECTIONS_MAX = 20_000;

/** The ports that the edge has, and the way to report changed routes to it at once. */
export type StartedEdge = { readonly ports: EdgePorts; readonly notify: Edge['notify'] };

/** Opens the ports and listens for changed routes; adds to `closings` what ends both. Rejects where a port cannot be had. */
export async function startEdge(parts: Parts, closings: Closing[]): Promise<StartedEdge> {
  const { config, database, lookups, vault, log, metrics, now } = parts;
  const loadSealed = keepCertificates(lookups.loadCertificate);
  const descriptors = shareDescriptors(descriptorLimit());
  const edge = createEdge({
    log,
    ...(metrics && { count: metrics.edge }),
    signingKey: parts.signingKey,
    loadUpstreamCa: lookups.loadUpstreamCa,
    reach: parts.upstreamReach,
    ...(config.edge.caddy && { caddy: config.edge.caddy }),
    visitors: {
      connections: Math.min(CONNECTIONS_MAX, descriptors.visitors),
      connectionsPerAddress: config.edge.connectionsPerAddress,
      handshakesPerSecond: config.edge.handshakesPerSecond,
      handshakesPerSecondAndAddress: config.edge.handshakesPerAddress,
      isTrusted: trustedProxies(config.api.trustedProxies),
    },
    requests: {
      total: Math.min(config.edge.requests, descriptors.upstreams),
      perProject: config.edge.requestsPerProject,
    },
    findChallenge: lookups.findChallenge,
    findChallengeCertificate:
      config.acme.challenge === 'tls-alpn-01'
        ? createProofCertificates(lookups.findProof, now)
        : null,
    findRoute: lookups.findRoute,
    isDatabaseAway: createAwayProbe(database),
    async loadCertificate(id) {
      const stored = await loadSealed(id);
      if (stored === null) return null;
      return { chain: stored.chain, key: vault.open(stored.sealedKey, sealOf(id)) };
    },
    listNames: lookups.listNames,
    ticketKeys: createTicketKeys(parts.secrets.tickets, now),
  });
  if (config.edge.caddy !== undefined && !isLoopback(config.edge.caddy.address)) {
    const { address } = config.edge.caddy;
    log.warn({ address }, 'EDGE_CADDY_ADDRESS is not loopback: private keys travel over it');
  }
  closings.push((deadlineMs) => edge.close(deadlineMs));
  const ports = await edge.listen({ host: config.http.host, ...config.edge });
  for (const port of Object.values(ports)) if (port !== undefined) parts.ownPorts.add(port);
  const beating = { pool: parts.edgePool, openPool: database.openPool };
  // After the ports: until it listens, the edge finds changed routes by itself.
  const notifications = listenForRouteNotifications({
    database: beating,
    log,
    onNotification: edge.notify,
  });
  closings.push(() => notifications.close());
  return { ports, notify: edge.notify };
}
