/** Domains at every stage, as workers would have stored them. */

import { randomUUID } from 'node:crypto';
import type { Diagnosis } from '../../../src/core/diagnosis/diagnosis.ts';
import { diagnose } from '../../../src/core/diagnosis/diagnosis.ts';
import type { Observation, ServerView } from '../../../src/core/diagnosis/observation.ts';
import { HOUR } from '../../../src/core/time.ts';
import { createCheckStore } from '../../../src/db/domains/checks.ts';
import type { Database } from '../../../src/db/engine/client.ts';
import { createCertificateStore } from '../../../src/db/issuance/certificates.ts';
import { isWait } from '../../../src/db/issuance/orders.ts';
import { aCheckSave, anObservation } from '../../support/builders.ts';
import type { RunningDashboard } from './dashboard.ts';

const servers = ['art.ns.cloudflare.com', 'bea.ns.cloudflare.com'] as const;

/** The view of all servers, or of the first one and the others. */
export function observationShowing(
  hostname: string,
  zone: string,
  first: Partial<ServerView>,
  others: Partial<ServerView> = first,
): Observation {
  const seen = anObservation();
  const view = (server: string, shown: Partial<ServerView>) => ({
    ...seen.servers[0],
    server,
    address: server === servers[0] ? '173.245.58.10' : '2606:4700:50::adf5:3a0b',
    ...shown,
  });
  return {
    ...seen,
    hostname,
    at: new Date().toISOString(),
    delegation: {
      kind: 'delegated',
      zone,
      parent: zone.split('.').slice(1).join('.'),
      atParent: servers,
      atZone: servers,
      ttlSeconds: 172_800,
    },
    servers: [view(servers[0], first), view(servers[1], others)],
  };
}

export const nothing = {
  cname: { kind: 'nxdomain' },
  a: { kind: 'nxdomain' },
  aaaa: { kind: 'nxdomain' },
} as const;

export const cnameTo = (target: string): Partial<ServerView> => ({
  cname: { kind: 'records', records: [target], ttlSeconds: 3_600 },
});

const ca = {
  issuerDomains: ['letsencrypt.org'],
  accountUri: null,
  method: 'http-01',
} as const;

/**
 * Saves a check like a worker: with its diagnosis, events and new state. `seen`: null if the stored observation is the
 * current one.
 */
export async function saveObservation(
  database: Database,
  id: string,
  seen: Observation | null,
): Promise<void> {
  const checks = createCheckStore(database);
  const domain = await checks.load(id);
  const observation = seen ?? domain?.observation;
  if (!domain || !observation) throw new Error('no such domain, or no check to repeat');
  const { hostname, target } = domain;
  const diagnosis: Diagnosis = diagnose(observation, { hostname, target, ca, allowPrivate: true });
  await checks.save(aCheckSave(domain, diagnosis, new Date(), observation));
}

/** Moves the next check an hour ahead, because a page with an overdue check reloads. */
export async function putOff({ prisma }: Database, id: string): Promise<void> {
  const nextCheckAt = new Date(Date.now() + HOUR);
  await prisma.domain.update({ where: { id }, data: { nextCheckAt } });
}

/** A correct record without an obstructive CAA set. */
export function rightObservation(hostname: string, zone: string, target: string): Observation {
  const caa = [{ name: zone, answer: { kind: 'nodata' } }] as const;
  return { ...observationShowing(hostname, zone, cnameTo(target)), caa };
}

/** Issues its certificate; a verified domain goes live. */
export async function issueCertificate(database: Database, id: string): Promise<void> {
  const certificates = createCertificateStore(database.prisma, {
    timeScale: 1,
  });
  const domain = await createCheckStore(database).load(id);
  if (domain === undefined) throw new Error('no such domain');
  const at = new Date();
  const order = { id: randomUUID(), sealedKey: null };
  const open = await certificates.openOrder(domain, order, at);
  const issued = {
    chain: 'none',
    issuer: "Let's Encrypt E7",
    issuedAt: at,
    expiresAt: new Date(at.getTime() + 90 * 24 * HOUR),
  };
  if (open === null || isWait(open)) throw new Error('no order could be opened');
  await certificates.store(domain, open.id, issued, at);
}

/** A hostile text for every field that a zone owner controls. */
export const hostile = `"><img src=x onerror=alert(1)>'&<script>alert(2)</script>`;

/** A project with a domain at every stage. Returns each id by its first label. */
export async function everyLife(
  { signpost, api, aProject }: Pick<RunningDashboard, 'signpost' | 'api' | 'aProject'>,
  zone = 'shop.example',
): Promise<{ readonly projectId: string; readonly ids: Readonly<Record<string, string>> }> {
  const { database } = signpost.service;
  const projectId = await aProject();
  const ids: Record<string, string> = {};
  for (const label of ['new', 'docs', 'blog', 'www', 'old', 'split']) {
    const hostname = `${label}.${zone}`;
    await api('POST', `/v1/projects/${projectId}/domains`, { hostname });
    const row = await database.prisma.domain.findFirstOrThrow({ where: { projectId, hostname } });
    ids[label] = row.id;
    if (label === 'new') continue;
    await saveObservation(database, row.id, observationOf(label, hostname, zone, row.target));
  }
  await issueCertificate(database, ids['www'] ?? '');
  await issueCertificate(database, ids['old'] ?? '');
  await drift(database, ids['old'] ?? '', `old.${zone}`, zone);
  return { projectId, ids };
}

function observationOf(label: string, hostname: string, zone: string, target: string): Observation {
  if (label === 'docs') return observationShowing(hostname, zone, nothing);
  if (label === 'split') return observationShowing(hostname, zone, cnameTo(target), nothing);
  return rightObservation(hostname, zone, target);
}

/** Two failed checks, far enough apart. */
async function drift(database: Database, id: string, hostname: string, zone: string) {
  const elsewhere = observationShowing(hostname, zone, cnameTo('shops.elsewhere.example'));
  await saveObservation(database, id, elsewhere);
  const missedAt = new Date(Date.now() - HOUR);
  await database.prisma.domain.update({ where: { id }, data: { missedAt } });
  await saveObservation(database, id, elsewhere);
}
