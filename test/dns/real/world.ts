/** A registry, a customer's two name servers and a validating resolver on loopback. */
import type { SocketAddress } from '../../../src/config/config.ts';
import type { WireAnswer } from '../../../src/dns/wire/exchange.ts';
import type { RecordType } from '../../../src/dns/wire/records.ts';
import { createWire, type Wire } from '../../../src/dns/wire/wire.ts';
import { type ServedZone, startNamed, startNsd, startUnbound } from '../../support/name-servers.ts';
import { lacks, type ProgramName } from '../../support/programs.ts';
import { freePort } from '../../support/servers.ts';
import { sign } from './signing.ts';
import {
  addresses,
  addressOf,
  BOTH,
  platformZone,
  type RealZone,
  registryZone,
  rootZone,
  servedBy,
} from './zones.ts';

const programs = [
  'nsd',
  'named',
  'unbound',
  'dnssec-keygen',
  'dnssec-signzone',
  'dnssec-dsfromkey',
] as const satisfies readonly ProgramName[];

/** For `describe.skipIf`: whether a server is not installed; reports each missing one. */
export function lacksNameServers(what: string): boolean {
  return programs.filter((program) => lacks(program, what)).length > 0;
}

type Place = 'registry' | 'ns1' | 'ns2' | 'unbound';

type Response = Extract<WireAnswer, { readonly kind: 'response' }>;

export type RealWorld = {
  readonly wire: Wire;
  /** The resolver, and the port of every server. */
  readonly resolver: SocketAddress;
  readonly ask: (place: Place, name: string, type: RecordType) => Promise<Response>;
  /** Replaces a zone at both servers of the customer; `serial` must be new. */
  readonly publish: (zone: RealZone) => Promise<void>;
  readonly close: () => Promise<void>;
};

const UNBOUND = '127.0.0.14';
/** Only silent servers take that long; others need a millisecond, except on a busy machine. */
const TIMEOUT_MS = 1_000;

/** Starts all four with these zones and the platform's; takes about a second. */
export async function startRealWorld(customers: readonly RealZone[]): Promise<RealWorld> {
  const port = await freePort();
  const servers = await startServers([platformZone, ...customers], port);
  const wire = createWire({ timeoutMs: TIMEOUT_MS });
  return {
    wire,
    resolver: servers.unbound.at,
    async ask(place, name, type) {
      const recursionDesired = place === 'unbound';
      const question = { name, type, recursionDesired, dnssecOk: recursionDesired };
      const answer = await wire.ask(question, servers[place].at);
      if (answer.kind === 'response') return answer;
      throw new Error(`${place} on ${name} ${type}: ${answer.kind}`);
    },
    async publish(zone) {
      await Promise.all(
        customerServers.map((name) => servers[name].publish(servedZones(name, [zone]))),
      );
    },
    async close() {
      wire.close();
      await Promise.all(Object.values(servers).map((server) => server.close()));
    },
  };
}

const customerServers = ['ns1', 'ns2'] as const;

async function startServers(zones: readonly RealZone[], port: number) {
  const { signed, registry, anchor } = await signAll(zones);
  const at = (address: string) => ({ address, port });
  const served = (name: 'ns1' | 'ns2') =>
    servedZones(name, zones).map(
      (zone) => signed.find((other) => other.zone.name === zone.name)?.zone ?? zone,
    );
  const stubs = [
    ...['.', 'test'].map((zone) => ({ zone, servers: [at(addresses.ns)] })),
    ...zones.map(({ name, atParent = BOTH }) => ({
      zone: name,
      // Stopped servers are left out: waiting for them would outlast a check.
      servers: atParent
        .map(addressOf)
        .filter((address) => address !== addresses.down)
        .map(at),
    })),
  ];
  const starting = [
    startNsd(at(addresses.ns), [rootZone(), registry]),
    startNsd(at(addresses.ns1), served('ns1')),
    startNamed(at(addresses.ns2), served('ns2')),
    startUnbound({ at: at(UNBOUND), trustAnchors: [anchor], stubs }),
  ] as const;
  try {
    const [registryServer, ns1, ns2, unbound] = await Promise.all(starting);
    return { registry: registryServer, ns1, ns2, unbound };
  } catch (error) {
    const started = await Promise.allSettled(starting);
    await Promise.all(started.map((one) => one.status === 'fulfilled' && one.value.close()));
    throw error;
  }
}

/** Signs these zones, then the registry's with their DS records. */
async function signAll(zones: readonly RealZone[]) {
  const signed = await Promise.all(
    zones.flatMap((zone) => {
      const [served] = servedZones('ns1', [zone]);
      return zone.signing && served ? [sign(served, zone.signing)] : [];
    }),
  );
  const registry = await sign(registryZone(zones, signed), 'well');
  return { signed, registry: registry.zone, anchor: registry.anchor };
}

function servedZones(server: 'ns1' | 'ns2', zones: readonly RealZone[]): ServedZone[] {
  return zones.flatMap((zone) => servedBy(server, zone) ?? []);
}
