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

/** Adds `Observation.proxy`. DNS answers stay the same while the proxy's rules change. */
export function observingProxies(observer: Observer, reach: ReachOverHttp): Observer {
  async function withProxy({ proxy: _, ...seen }: Observation): Promise<Observation> {
    const addresses = proxiedAddresses(seen);
    if (addresses.length === 0) return seen;
    const reached = await reach(seen.hostname, addresses);
    return { ...seen, proxy: reached.map(answerOf) };
  }

  return {
    ...observer,
    observe: async (check) => withProxy(await observer.observe(check)),
    async observeAgain(check, earlier): Promise<Observed> {
      const before = passageOf(earlier.observation.proxy);
      // Like a right record, it is always observed in full.
      const observed: Observed =
        before === 'passes'
          ? { kind: 'observed', observation: await observer.observe(check) }
          : await observer.observeAgain(check, earlier);
      const observation = await withProxy(observed.observation);
      const isSame = passageOf(observation.proxy) === before;
      return { kind: isSame ? observed.kind : 'observed', observation };
    },
  };
}

function answerOf({ address, outcome, answers }: AddressReach): ProxyAnswer {
  return { address, result: resultOf(outcome), status: answers.at(-1)?.status ?? null };
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
