/**
 * Where deploys may be. Their URLs are customers' to choose, and whoever connects to them stands inside the platform: asked
 * when a deploy is reported, for a word at once, and at every new connection to it, for what its name leads to by then.
 */
import { isIP } from 'node:net';
import type { Config } from '../config/config.ts';
import { upstreamPortProblem } from '../core/operations/upstream-ports.ts';
import { trustedProxies as membersOf } from './client-address.ts';
import {
  addressesOf,
  createLookup,
  hostOf,
  isLocalhost,
  isOwn,
  isPublic,
  type Lookup,
} from './destination.ts';
import type { OwnAddresses } from './own-addresses.ts';

/** Returns why no deploy may be at an address and a port, in words that complete `upstream`; null where one may. */
export type ProblemAt = (address: string, port: number) => string | null;

/** How deploys' names are looked up, and what they may lead to. */
export type UpstreamReach = {
  readonly lookup: Lookup;
  /** What the addresses of one connection are judged by. Rejects where nobody can tell what our own addresses are. */
  readonly decide: () => Promise<ProblemAt>;
};

/** The same, and for whoever connects to nothing. */
export type DeployReach = UpstreamReach & {
  /**
   * Of an http or https URL as a customer reports it, by what is known at the moment. An address that only a name leads to is
   * left to whoever connects.
   */
  readonly urlProblem: (url: URL) => string | null;
};

/** What they are made of. */
export type UpstreamReachDeps = {
  readonly config: Pick<Config, 'dns' | 'upstreams'>;
  readonly ownAddresses: OwnAddresses;
  /** Where we ourselves listen, in this process or another, and where our storage does. */
  readonly ownPorts: ReadonlySet<number>;
  /** Milliseconds, never backwards. */
  readonly now?: () => number;
};

/** Our choice: judging an address asks the system for those of this machine. */
const DECIDED_MS = 1_000;

/**
 * Public addresses that are not the platform's own, nor its storage's, and whatever lies in `UPSTREAM_NETWORKS`; there, too,
 * no port of ours at an address of ours. Visitors wait for the first look-up of our own addresses, and for none after it:
 * while one is under way the last one's count. What an address was judged to be counts for a second: every request of a
 * deploy whose URL spells it out asks.
 */
export function upstreamReach(deps: UpstreamReachDeps): DeployReach {
  const { config, ownAddresses, now = () => performance.now() } = deps;
  const rules = createRules(deps);
  let own: readonly string[] | null = null;
  let decided: { readonly problemAt: ProblemAt; readonly until: number } | null = null;

  /** Where nobody waits for it and it fails, the next one to ask asks again. */
  function refresh(): Promise<readonly string[]> {
    const resolved = ownAddresses().then((addresses) => {
      own = addresses;
      return addresses;
    });
    resolved.catch(() => {});
    return resolved;
  }

  return {
    lookup: createLookup(config.dns.servers),
    async decide() {
      if (decided !== null && now() < decided.until) return decided.problemAt;
      const resolved = refresh();
      const known = own ?? (await resolved);
      const problemAt = onceEach((address, port) => rules(address, port, known));
      decided = { problemAt, until: now() + DECIDED_MS };
      return problemAt;
    },
    urlProblem(url) {
      const host = hostOf(url);
      const port = portOf(url);
      void refresh();
      if (isLocalhost(host)) return rules('127.0.0.1', port, own ?? []);
      if (isIP(host) !== 0) return rules(host, port, own ?? []);
      return upstreamPortProblem(port, config.upstreams.ports);
    },
  };
}

/**
 * Where machines of a cloud ask for their own credentials: AWS and most others, AWS by IPv6, Google by IPv6, tasks and pods
 * of AWS, Alibaba, Oracle, Azure. Several lie in networks that an operator names for other reasons (fd00::/8, 10.64.0.0/10).
 */
const metadata: readonly string[] = [
  '169.254.169.254',
  'fd00:ec2::254',
  'fd20:ce::254',
  '169.254.170.2',
  '169.254.170.23',
  'fd00:ec2::23',
  '100.100.100.200',
  '192.0.0.192',
  '168.63.129.16',
];

type Rules = (address: string, port: number, own: readonly string[]) => string | null;

function createRules({ config: { upstreams }, ownPorts }: UpstreamReachDeps): Rules {
  const isNamed = membersOf(upstreams.networks);
  const isNamedAlone = membersOf(upstreams.networks.filter((one) => !/\/(?!32$|128$)/.test(one)));
  const isMetadata = membersOf(metadata);
  return (address, port, own) => {
    const portProblem = upstreamPortProblem(port, upstreams.ports);
    if (portProblem !== null) return portProblem;
    const isOurs = isOwn(address, own);
    // Whatever the operator has named or opened: nobody names the platform to have it published.
    if (isOurs && ownPorts.has(port)) {
      return `must not lead to ${address}, port ${port}, where the platform itself answers`;
    }
    if (isMetadata(address) && !isNamedAlone(address)) {
      return `must not lead to ${address}, a cloud’s metadata: UPSTREAM_NETWORKS would have to name it alone`;
    }
    if (isNamed(address) || (isPublic(address) && !isOurs)) return null;
    return `must not lead to ${address}, which is not public, or is the platform’s own or its storage’s: where deploys are there, the operator names it in UPSTREAM_NETWORKS`;
  };
}

function onceEach(problemAt: ProblemAt): ProblemAt {
  const verdicts = new Map<string, string | null>();
  return (address, port) => {
    const place = `${address} ${port}`;
    const known = verdicts.get(place);
    if (known !== undefined) return known;
    const verdict = problemAt(address, port);
    verdicts.set(place, verdict);
    return verdict;
  };
}

/** Returns the port of an http or https URL, also where it is the scheme's own. */
export function portOf({ port, protocol }: URL): number {
  if (port !== '') return Number(port);
  return protocol === 'https:' ? 443 : 80;
}

/**
 * Returns every address of an upstream, or why it must not be connected to: one address that is not allowed spoils them all,
 * because which one is connected to is up to who answers first. Rejects as `lookup` does.
 */
export async function vettedAddresses(url: URL, lookup: Lookup, problemAt: ProblemAt) {
  const addresses = await addressesOf(url, lookup);
  const problems = addresses.flatMap(({ address }) => problemAt(address, portOf(url)) ?? []);
  return { addresses, problem: problems[0] ?? null };
}
