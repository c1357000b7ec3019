/** Observes whether a proxy that hides a name's record passes challenges on to our edge. */
import type { AddressReach } from '../../core/certificates/reach.ts';
import type { Observation, Observed, ProxyAnswer } from '../../core/diagnosis/observation.ts';
import { passageOf, proxiedAddresses } from '../../core/diagnosis/proxies.ts';
import type { Observer } from '../../dns/observe/observe.ts';

/** Requests a challenge over HTTP from each address. Empty: this machine cannot recognize our edge. */
export type ReachOverHttp = (
  hostname: string,
  addresses: readonly string[],
) => Promise<readonly AddressReach[]>;

/** A proxy answers alike at all of its addresses; two of each family would do. */
const ADDRESSES_MAX = 4;

/** Adds `Observation.proxy`. DNS answers stay the same while the proxy's rules change. */
export function observingProxies(observer: Observer, reach: ReachOverHttp): Observer {
  async function withProxy({ proxy: _, ...seen }: Observation): Promise<Observation> {
    const addresses = proxiedAddresses(seen).slice(0, ADDRESSES_MAX);
    if (addresses.length === 0) return seen;
    const reached = await reach(seen.hostname, addresses);
    // No IPv6 here, for example, which says nothing about the proxy.
    const told = reached.filter(({ outcome }) => outcome !== 'no_route');
    const none = addresses.map((address) => ({ address, result: 'none', status: null }) as const);
    return { ...seen, proxy: told.length > 0 ? told.map(answerOf) : none };
  }

  const inFull = async (check: Parameters<Observer['observe']>[0]): Promise<Observed> => ({
    kind: 'observed',
    observation: await withProxy(await observer.observe(check)),
  });

  return {
    ...observer,
    observe: async (check) => (await inFull(check)).observation,
    async observeAgain(check, earlier): Promise<Observed> {
      const before = passageOf(earlier.observation.proxy);
      // Like a right record, it is always observed in full.
      if (before === 'passes') return inFull(check);
      const { kind, observation } = await observer.observeAgain(check, earlier);
      const seen = await withProxy(observation);
      const now = passageOf(seen.proxy);
      if (now === 'passes' && kind === 'unchanged') return inFull(check);
      return { kind: now === before ? kind : 'observed', observation: seen };
    },
  };
}

function answerOf({ address, outcome, redirect, answers }: AddressReach): ProxyAnswer {
  // The lookup of the name can have failed.
  const isUnresolved = redirect?.problem === 'unresolved';
  const result = isUnresolved ? 'none' : resultOf(outcome);
  return { address, result, status: answers.at(-1)?.status ?? null };
}

function resultOf(outcome: AddressReach['outcome']): ProxyAnswer['result'] {
  switch (outcome) {
    case 'edge':
      return 'edge';
    case 'other_answer':
      return 'other';
    case 'bad_redirect':
      return 'redirect';
    default:
      return 'none';
  }
}
