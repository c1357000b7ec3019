/** Where deploys may be, of a platform at two addresses with one port. */
import { upstreamReach } from '../../../src/net/upstream-reach.ts';

export const ours = '8.8.4.4';
export const dns = { servers: [], authoritative: true, authorityPort: 53, allowPrivate: true };
export const API_PORT = 3000;
export const reachOf = (...networks: string[]) =>
  upstreamReach({
    config: { dns, upstreams: { networks, ports: [] } },
    ownAddresses: async () => [ours, '2600:1234::1'],
    ownPorts: new Set([API_PORT]),
  });
/** Whether a deploy may be there, at a port that is nobody's. */
export const allowedBy = async (...networks: string[]) => {
  const problemAt = await reachOf(...networks).decide();
  return (address: string) => problemAt(address, 8000) === null;
};
