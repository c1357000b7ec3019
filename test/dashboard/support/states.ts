/** A domain in every state that a page shows. Returns the path of each page by the state's name. */

import type {
  CaaRecord,
  Observation,
  ServerView,
} from '../../../src/core/diagnosis/observation.ts';
import { HOUR } from '../../../src/core/time.ts';
import type { RunningDashboard } from './dashboard.ts';
import {
  cnameTo,
  issueCertificate,
  nothing,
  observationShowing,
  putOff,
  rightObservation,
  saveObservation,
} from './lives.ts';

const godaddy = ['ns51.domaincontrol.com', 'ns52.domaincontrol.com'] as const;
const old: Partial<ServerView> = {
  ...nothing,
  a: { kind: 'records', records: ['151.101.1.7'], ttlSeconds: 600 },
};

type Servers = readonly [string, string];
type Seen = (hostname: string, zone: string, target: string) => Observation;

/** Moves an observation to another provider. */
function servedBy(seen: Observation, names: Servers): Observation {
  const rename = (view: ServerView, at: number) => ({ ...view, server: names[at] ?? view.server });
  const [first, ...rest] = seen.servers;
  const { delegation } = seen;
  return {
    ...seen,
    servers: [rename(first, 0), ...rest.map((view, at) => rename(view, at + 1))],
    delegation:
      delegation?.kind === 'delegated'
        ? { ...delegation, atParent: names, atZone: names }
        : delegation,
  };
}

const atGodaddy =
  (first: (target: string) => Partial<ServerView>, others = first): Seen =>
  (hostname, zone, target) =>
    servedBy(observationShowing(hostname, zone, first(target), others(target)), godaddy);

const caaRecords: readonly CaaRecord[] = [
  { flags: 0, tag: 'issue', value: 'digicert.com' },
  { flags: 0, tag: 'iodef', value: 'mailto:it@example.org' },
];

const forbidden: Seen = (hostname, zone, target) => {
  const seen = servedBy(rightObservation(hostname, zone, target), [
    'dns1.registrar-servers.com',
    'dns2.registrar-servers.com',
  ]);
  const [first, ...rest] = caaRecords;
  if (first === undefined) throw new Error('no records');
  const answer = { kind: 'records', records: [first, ...rest], ttlSeconds: 300 } as const;
  return {
    ...seen,
    caa: [
      { name: hostname, answer: { kind: 'nodata' } },
      { name: zone, answer },
    ],
  };
};

const silence: Partial<ServerView> = {
  state: 'servfail',
  cname: { kind: 'servfail' },
  a: { kind: 'servfail' },
  aaaa: { kind: 'servfail' },
};

const apexAtGodaddy: Seen = (hostname, zone) => ({
  ...servedBy(
    observationShowing(hostname, zone, {
      ...nothing,
      a: { kind: 'records', records: ['34.102.136.180'], ttlSeconds: 600 },
    }),
    godaddy,
  ),
  targetAddresses: ['203.0.113.10', '203.0.113.11', '2001:db8:1::10'],
});

const proxied: Seen = (hostname, zone) =>
  observationShowing(hostname, zone, {
    ...nothing,
    a: { kind: 'records', records: ['104.16.0.1'], ttlSeconds: 300 },
  });

const twoProviders: Seen = (hostname, zone, target) =>
  servedBy(observationShowing(hostname, zone, cnameTo(target), nothing), [
    'ns51.domaincontrol.com',
    'ns1.elsewhere.example',
  ]);

/** What a check of each state sees. */
export const seenIn = {
  missing: atGodaddy(() => nothing),
  action: atGodaddy(
    () => nothing,
    () => old,
  ),
  changed: atGodaddy(() => cnameTo('shops.elsewhere.example')),
  waiting: atGodaddy(
    (target) => cnameTo(target),
    () => nothing,
  ),
  unknown: atGodaddy(() => silence),
  caa: forbidden,
  verified: (hostname, zone, target) => rightObservation(hostname, zone, target),
  live: (hostname, zone, target) => rightObservation(hostname, zone, target),
  suspected: (hostname, zone, target) => rightObservation(hostname, zone, target),
  drifted: (hostname, zone, target) => rightObservation(hostname, zone, target),
  failed: atGodaddy(() => nothing),
  apex: apexAtGodaddy,
  proxied,
  providers: twoProviders,
  expired: (hostname, zone, target) => rightObservation(hostname, zone, target),
  plan: (hostname, zone, target) => rightObservation(hostname, zone, target),
} satisfies Readonly<Record<string, Seen>>;

/** The longest label that the DNS allows. */
const LONG = 'the-extremely-long-department-name-of-the-regional-support-team';

export async function everyState(
  { signpost, api, aProject }: Pick<RunningDashboard, 'signpost' | 'api' | 'aProject'>,
  zone = 'example.org',
): Promise<{ readonly project: string; readonly pages: ReadonlyMap<string, string> }> {
  const { database } = signpost.service;
  const projectId = await aProject('Toy shop');
  const pages = new Map<string, string>();
  async function add(hostname: string, state: string, seen: Seen | null): Promise<string> {
    await api('POST', `/v1/projects/${projectId}/domains`, { hostname });
    const row = await database.prisma.domain.findFirstOrThrow({ where: { projectId, hostname } });
    const at = seen?.(hostname, zone, row.target) ?? null;
    if (at !== null) await saveObservation(database, row.id, at);
    await putOff(database, row.id);
    pages.set(state, `/projects/${projectId}/domains/${hostname}`);
    return row.id;
  }
  await add(`new.${zone}`, 'new', null);
  const ids = new Map<string, string>();
  for (const [state, seen] of Object.entries(seenIn)) {
    const hostname = state === 'apex' ? zone : `${state}.${zone}`;
    ids.set(state, await add(hostname, state, seen));
  }
  await add(
    `${LONG}.${zone}`,
    'long',
    atGodaddy(() => cnameTo(`${LONG}.elsewhere.example`)),
  );
  const idOf = (state: string) => ids.get(state) ?? '';
  for (const state of ['live', 'suspected', 'drifted', 'expired'])
    await issueCertificate(database, idOf(state));
  for (const state of ['suspected', 'drifted']) {
    const elsewhere = atGodaddy(() => cnameTo('shops.elsewhere.example'));
    const seen = elsewhere(`${state}.${zone}`, zone, '');
    await saveObservation(database, idOf(state), seen);
    if (state === 'suspected') continue;
    const missedAt = new Date(Date.now() - HOUR);
    await database.prisma.domain.update({ where: { id: idOf(state) }, data: { missedAt } });
    await saveObservation(database, idOf(state), seen);
  }
  await database.prisma.domain.update({
    where: { id: idOf('failed') },
    data: { status: 'failed', failedAt: new Date(), nextCheckAt: null, recheckAt: null },
  });
  await database.prisma.certificate.updateMany({
    where: { domainId: idOf('expired') },
    data: { expiresAt: new Date(Date.now() - HOUR) },
  });
  const plan = { code: 'plan_required', hostname: `plan.${zone}` };
  await database.prisma.domain.update({
    where: { id: idOf('plan') },
    data: { status: 'pending', verifiedAt: null, findings: [plan] },
  });
  return { project: `/projects/${projectId}`, pages };
}
