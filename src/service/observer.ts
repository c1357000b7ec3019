/** The DNS observer, which also asks proxies in front of a name. */
import { reachAddresses } from '../certificates/reach/challenge-path.ts';
import { reachRules } from '../certificates/reach/examine-reach.ts';
import { observingProxies } from '../certificates/reach/observe-proxied.ts';
import type { Probes } from '../certificates/served/probe.ts';
import { createObserver, type Observer } from '../dns/observe/observe.ts';
import type { Wire } from '../dns/wire/wire.ts';
import type { Opened } from './opened.ts';

/** For all addresses of a proxy together. */
const PROXY_MS = 5_000;
/** A hostile proxy must not cause many DNS queries; the name itself is known. */
const REDIRECTED_NAMES_MAX = 2;

/** An external edge answers challenges itself, and no proxy passes tls-alpn-01 on. */
export function buildObserver({ config, metrics }: Opened, wire: Wire, probes: Probes): Observer {
  const observer = createObserver({
    wire,
    config: config.dns,
    platformAddresses: config.platform.addresses,
    ...(metrics && { count: metrics.question }),
  });
  if (config.certificates.source === 'external' || config.acme.challenge !== 'http-01') {
    return observer;
  }
  const rules = reachRules(config, observer.lookupAddresses, probes);
  return observingProxies(observer, (hostname, addresses) => {
    const known = new Map([[hostname, Promise.resolve(addresses)]]);
    const lookupAddresses = (name: string): Promise<readonly string[]> => {
      const found = known.get(name);
      if (found !== undefined) return found;
      if (known.size > REDIRECTED_NAMES_MAX) return Promise.resolve([]);
      const query = observer.lookupAddresses(name);
      known.set(name, query);
      return query;
    };
    const signal = AbortSignal.timeout(PROXY_MS);
    return reachAddresses({ ...rules, lookupAddresses, signal }, hostname, addresses, ['http']);
  });
}
