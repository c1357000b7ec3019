/** Connections to the addresses of a customer's name. */
import { setTimeout as wait } from 'node:timers/promises';
import { HTTPS_PORT } from '../certificates/authorities/configured.ts';
import { reachRules } from '../certificates/reach/examine-reach.ts';
import { probeAddresses } from '../certificates/reach/probe-addresses.ts';
import type { Probes } from '../certificates/served/probe.ts';
import {
  createRecordServedCertificate,
  type RecordServedCertificate,
} from '../certificates/served/served-certificate.ts';
import type { Config } from '../config/config.ts';
import type { Probe } from '../core/certificates/escalation.ts';
import { createServedCertificateStore } from '../db/domains/served-certificates.ts';
import type { Database } from '../db/engine/client.ts';
import type { Observer } from '../dns/observe/observe.ts';

export type Handshakes = {
  /**
   * Whether each address would serve a challenge. Empty for the local CA, which makes no requests,
   * and if probes are turned off.
   */
  probe(hostname: string): Promise<readonly Probe[]>;
  /** Compares what visitors are shown with the stored certificates, and stores the result. */
  readonly recordServed: RecordServedCertificate;
};

type Around = {
  readonly config: Config;
  readonly database: Database;
  readonly observer: Observer;
  readonly probes: Probes;
  readonly now: () => Date;
};

export function buildHandshakes(around: Around): Handshakes {
  return {
    probe: (hostname) => probeChallenge(around, hostname),
    recordServed: recordServedWith(around),
  };
}

async function probeChallenge({ config, observer, probes }: Around, hostname: string) {
  if (config.acme.directoryUrl === undefined || !config.edge.isProbed) return [];
  const { lookupAddresses } = observer;
  const rules = { ...reachRules(config, lookupAddresses, probes), probes };
  return probeAddresses(rules, hostname, await lookupAddresses(hostname));
}

/**
 * An external edge obtains its own certificates, so there is nothing to compare. If our own
 * addresses are unreachable from here, nothing is stored: that says nothing about visitors.
 */
function recordServedWith({ config, database, observer, now }: Around): RecordServedCertificate {
  const isExternal = config.certificates.source === 'external';
  if (isExternal || !config.edge.isProbed) return async () => undefined;
  const { loadChains, save } = createServedCertificateStore(database.prisma, config);
  return createRecordServedCertificate({
    loadChains,
    save,
    lookupAddresses: observer.lookupAddresses,
    port: visitorsPort(config),
    allowPrivate: config.dns.allowPrivate,
    now,
    pause: (ms) => wait(ms),
  });
}

/** Embedded storage has one process, so its edge is the one that visitors reach. */
function visitorsPort({ edge, storage }: Pick<Config, 'edge' | 'storage'>): number {
  const listening = storage.kind === 'embedded' && edge.httpsPort !== 0 ? edge.httpsPort : null;
  return edge.publicHttpsPort ?? listening ?? HTTPS_PORT;
}
