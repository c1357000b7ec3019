import { createProofCertificates } from '../certificates/served/proof-certificate.ts';
import { createTicketKeys } from '../certificates/vault/derived-secrets.ts';
import { sealOf } from '../certificates/vault/keys.ts';
import { listenForRouteNotifications } from '../db/domains/route-notifications.ts';
import { createAwayProbe } from '../db/engine/unavailable.ts';
import { createEdge, type Edge, type EdgePorts } from '../edge/edge.ts';
import { upstreamReach } from '../edge/proxy/upstream.ts';
import { keepCertificates } from '../edge/tls/secure-contexts.ts';
import { isLoopback, trustedProxies } from '../net/client-address.ts';
import { descriptorLimit, shareDescriptors } from '../net/connections.ts';
import type { Closing } from '../service/closing.ts';
import type { Service } from '../service/service.ts';

/** For both ports together: about 50 KB each, including the handshake. */
const CONNECTIONS_MAX = 20_000;

export type StartedEdge = { readonly ports: EdgePorts; readonly notify: Edge['notify'] };

/** Adds its shutdown to `closings`. Rejects if a port cannot be opened. */
export async function startEdge(service: Service, closings: Closing[]): Promise<StartedEdge> {
  const { config, database, lookups, vault, log, metrics, now } = service;
  const loadSealed = keepCertificates(lookups.loadCertificate);
  const descriptors = shareDescriptors(descriptorLimit());
  const edge = createEdge({
    log,
    ...(metrics && { count: metrics.edge }),
    signingKey: service.signingKey,
    loadUpstreamCa: lookups.loadUpstreamCa,
    reach: upstreamReach(config, service.ownAddresses),
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
    answerProbe: lookups.answerProbe,
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
    ticketKeys: createTicketKeys(service.secrets.tickets, now),
  });
  if (config.edge.caddy !== undefined && !isLoopback(config.edge.caddy.address)) {
    const { address } = config.edge.caddy;
    log.warn({ address }, 'EDGE_CADDY_ADDRESS is not loopback: private keys travel over it');
  }
  closings.push((deadlineMs) => edge.close(deadlineMs));
  const ports = await edge.listen({ host: config.http.host, ...config.edge });
  const beating = { pool: service.edgePool, openPool: database.openPool };
  // After opening the ports: without notifications, the edge detects changes itself.
  const notifications = listenForRouteNotifications({
    database: beating,
    log,
    onNotification: edge.notify,
  });
  closings.push(() => notifications.close());
  return { ports, notify: edge.notify };
}
