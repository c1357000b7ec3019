/** Limits and allowed addresses of the edge, from the configuration. */
import { trustedProxies } from '../net/client-address.ts';
import { descriptorLimit, shareDescriptors } from '../net/connections.ts';
import type { EdgeService } from './edge-service.ts';
import { type EdgeLimits, edgeLimits } from './limits.ts';
import { type UpstreamReach, upstreamReach } from './proxy/upstream.ts';
import type { RequestLimitRules } from './request-limit.ts';
import type { VisitorRules } from './visitor-limits.ts';

export type EdgeRules = {
  readonly visitors: VisitorRules;
  readonly requests: RequestLimitRules;
  readonly reach: UpstreamReach;
  readonly limits: EdgeLimits;
};

/** For both ports together: about 50 KB each, including the handshake. */
const CONNECTIONS_MAX = 20_000;

export function edgeRulesOf({
  config,
  ownAddresses,
}: Pick<EdgeService, 'config' | 'ownAddresses'>): EdgeRules {
  const { api, edge } = config;
  const descriptors = shareDescriptors(descriptorLimit());
  return {
    visitors: {
      connections: Math.min(CONNECTIONS_MAX, descriptors.visitors),
      connectionsPerAddress: edge.connectionsPerAddress,
      handshakesPerSecond: edge.handshakesPerSecond,
      handshakesPerSecondAndAddress: edge.handshakesPerAddress,
      isTrusted: trustedProxies(api.trustedProxies),
    },
    requests: {
      total: Math.min(edge.requests, descriptors.upstreams),
      perProject: edge.requestsPerProject,
    },
    reach: upstreamReach(config, ownAddresses),
    limits: edgeLimits,
  };
}
