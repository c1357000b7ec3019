/** Observes whether a proxy that hides a name's record passes challenges on to our edge. */
import type { AddressReach } from '../../core/certificates/reach.ts';
import type { Observation, Observed, ProxyAnswer } from '../../core/diagnosis/observation.ts';
import { passageOf, proxiedAddresses } from '../../core/diagnosis/proxies.ts';
import type { Observer } from '../../dns/observe/observe.ts';

/** Requests a challenge over HTTP from each address. */
export type ReachOverHttp = (
  hostname: string,
  addresses: readonly string[],
) => Promise<readonly AddressReach[]>;

/** A proxy answers alike at all of its addresses; two of each family would do. */
const ADDRESSES_MAX = 4;

/**
 * Adds `Observation.proxy`. DNS answers stay the same while the proxy's rules change. `reach`: null if
 * this machine cannot recognize our edge.
 */
export function observingProxies(observer: Observer, reach: ReachOverHttp | null): Observer {
  async function withProxy(observation: Observation): Promise<Observation> {
    const addresses = proxiedAddresses(observation).slice(0, ADDRESSES_MAX);
    // Avoids a copy for most names, which have no proxy.
    if (addresses.length === 0 && observation.proxy === undefined) return observation;
    const { proxy: _, ...seen } = observation;
    if (addresses.length === 0) return seen;
    const without = (result: 'none' | 'unseen') =>
      addresses.map((address) => ({ address, result, status: null }));
    if (reach === null) return { ...seen, proxy: without('unseen') };
    const reached = await reach(seen.hostname, addresses);
    // No IPv6 here, for example, which says nothing about the proxy.
    const queried = reached.filter(({ outcome }) => outcome !== 'no_route');
    return { ...seen, proxy: queried.length > 0 ? queried.map(answerOf) : without('none') };
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
      if (now === 'passes' && kind === 'unchanged') {
        const whole = await observer.observe(check);
        const isSame = `${proxiedAddresses(whole)}` === `${proxiedAddresses(seen)}`;
        const observation = isSame ? withAnswers(whole, seen) : await withProxy(whole);
        return { kind: 'observed', observation };
      }
      return { kind: now === before ? kind : 'observed', observation: seen };
    },
  };
}

function withAnswers(observation: Observation, { proxy }: Observation): Observation {
  return proxy === undefined ? observation : { ...observation, proxy };
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
