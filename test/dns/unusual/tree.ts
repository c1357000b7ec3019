/** Real servers on loopback: a registry, customers' name servers, and a validating resolver. */
import type { SocketAddress } from '../../../src/config/config.ts';
import { startNamed, startNsd, startUnbound } from '../../support/name-servers.ts';
import {
  frontRules,
  startDnsdist,
  startKnot,
  startPowerDns,
} from '../../support/other-name-servers.ts';
import { freePort } from '../../support/servers.ts';
import { sign } from '../real/signing.ts';
import {
  CUT_OFF,
  type Holder,
  holdersOf,
  netZone,
  operatorOf,
  operators,
  platform,
  REGISTRY,
  RESOLVER,
  registryZone,
  rootZone,
  servedBy,
  serversOf,
  type TreeZone,
  topLevels,
} from './zones.ts';

export type Tree = {
  /** Stand in for a failing resolver: no answer, REFUSED, or SERVFAIL. */
  readonly sick: Readonly<Record<'silent' | 'refuses' | 'fails', SocketAddress>>;
  /** The resolver, and the port of every server. */
  readonly resolver: SocketAddress;
  readonly close: () => Promise<void>;
};

type Closable = { readonly close: () => Promise<void> };

const starts = {
  nsd: startNsd,
  nsd2: startNsd,
  bind: startNamed,
  knot: startKnot,
  pdns: startPowerDns,
} as const;

/** Starts the servers that these zones need. Throws if a program is not installed. */
export async function startTree(customers: readonly TreeZone[]): Promise<Tree> {
  const zones = distinct([platform, ...customers]);
  const port = await freePort();
  const at = (address: string) => ({ address, port });
  const { signed, registry, anchor } = await signAll(zones);
  const holders = [...new Set(zones.flatMap(holdersOf))];
  const served = (holder: Holder) =>
    zones.flatMap((zone) => {
      const one = servedBy(holder, zone);
      return one === undefined
        ? []
        : (signed.find(({ zone: { name } }) => name === one.name)?.zone ?? one);
    });
  const stubs = [
    ...['.', ...topLevels].map((zone) => ({ zone, servers: [at(REGISTRY)] })),
    ...zones.map((zone) => ({ zone: zone.name, servers: addressesOf(zone).map(at) })),
  ];
  const sick = { silent: at(operators.dead), refuses: at(operators.nsd), fails: at(CUT_OFF) };
  return startAll({ resolver: at(RESOLVER), sick }, [
    startNsd(at(REGISTRY), [rootZone(), registry, netZone(zones)]),
    ...holders.map((holder) => starts[holder](at(operators[holder]), served(holder))),
    ...fronts(zones, at),
    startUnbound({ at: at(RESOLVER), trustAnchors: [anchor], stubs }),
    // Its root server refuses everything.
    startUnbound({
      at: at(CUT_OFF),
      trustAnchors: [],
      stubs: [{ zone: '.', servers: [at(operators.nsd)] }],
    }),
  ]);
}

/** Without dead servers: the resolver would wait for them longer than a check does. */
function addressesOf(zone: TreeZone): readonly string[] {
  const found = serversOf(zone).map(operatorOf);
  return [...new Set(found)].flatMap((one) => (one === 'dead' ? [] : (operators[one] ?? [])));
}

function fronts(zones: readonly TreeZone[], at: (address: string) => SocketAddress) {
  const rules = zones.flatMap(({ name, front }) => (front ? [frontRules[front](name)] : []));
  if (rules.length === 0) return [];
  const [front, behind] = [at(operators.front), at(operators.nsd)];
  return [startDnsdist({ at: front, behind, probe: platform.name, rules })];
}

async function startAll(
  where: Omit<Tree, 'close'>,
  starting: readonly Promise<Closable>[],
): Promise<Tree> {
  const settled = await Promise.allSettled(starting);
  const started = settled.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  const close = async () => {
    await Promise.all(started.map((one) => one.close()));
  };
  const failed = settled.find((one) => one.status === 'rejected');
  if (failed === undefined) return { ...where, close };
  await close();
  throw failed.reason;
}

/** Throws if two zones have the same name. */
function distinct(zones: readonly TreeZone[]): readonly TreeZone[] {
  const all = [...new Set(zones)];
  const names = all.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) < index);
  if (twice !== undefined) throw new Error(`two cases have a zone ${twice}`);
  return all;
}

/** Signs zones as their first holder has them, then the registry's zone with their DS records. */
async function signAll(zones: readonly TreeZone[]) {
  const signed = await Promise.all(
    zones.flatMap((zone) => {
      const [holder] = holdersOf(zone);
      const served = holder && servedBy(holder, zone);
      return zone.signing && served ? [sign(served, zone.signing)] : [];
    }),
  );
  const registry = await sign(registryZone(zones, signed), 'well');
  return { signed, registry: registry.zone, anchor: registry.anchor };
}
