import type { Config } from '../config/config.ts';
import { trustedProxies } from '../net/client-address.ts';
import { createLookup } from '../net/destination.ts';
import type { OwnAddresses } from '../net/own-addresses.ts';
import { checkUpstream, type UpstreamCheck } from '../net/upstream-check.ts';

type Around = { readonly config: Config; readonly ownAddresses: OwnAddresses };

export type CheckUpstream = (upstream: string) => Promise<UpstreamCheck>;

/** Accepts every address behind an external edge, which can reach addresses that ours does not. */
export function upstreamChecker({
  config: { certificates, dns, upstreams },
  ownAddresses,
}: Around): CheckUpstream {
  if (certificates.source === 'external') return async () => ({ kind: 'accepted', warnings: [] });
  const isNamed = trustedProxies(upstreams.networks);
  const lookup = createLookup(dns.servers);
  return (upstream) => checkUpstream({ lookup, isNamed, ownAddresses }, upstream);
}
