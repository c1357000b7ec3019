/**
 * What is not yours does not exist: every operation, asked with the names of another account, answers as it does with names
 * of nobody, shows nothing of the other one and changes nothing of it. For every kind of key; and a leak that is planted is
 * found.
 */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { installation } from '../../../src/core/accounts/access.ts';
import type { Api } from '../../../src/http/pipeline/api.ts';
import type { Route } from '../../../src/http/pipeline/route.ts';
import { type CallResult, callApi } from '../support.ts';
import { startWholeApi, type WholeApi } from '../whole-api.ts';
import { callAs, makeParty, type Names, nobody, type Party } from './parties.ts';
import { type Probe, probesOf, unknownBodies } from './probes.ts';

const API_KEY = `strangers-${randomBytes(24).toString('hex')}`;

let whole: WholeApi;
let api: Api;
let routes: readonly Route[];
let asker: Party;
let victim: Party;

beforeAll(async () => {
  whole = await startWholeApi({ API_KEY });
  ({ api, routes } = whole);
  const operator = callAs(api, API_KEY);
  [asker, victim] = [await makeParty(api, operator), await makeParty(api, operator)];
});
afterAll(() => whole?.close());

/** A key that asks, as its request's headers. */
type Asking = { readonly key: string; readonly headers?: Readonly<Record<string, string>> };

/** Every kind of key that must not reach what is the victim's; the last one is of the victim's own account. */
const kinds: readonly [string, () => Asking][] = [
  ['an account’s admin key', () => ({ key: asker.adminKey })],
  ['an account’s key that may write', () => ({ key: asker.writeKey })],
  ['an account’s key that may read', () => ({ key: asker.readKey })],
  ['a key for one project of an account', () => ({ key: asker.restrictedKey })],
  [
    'an installation’s key that acts for an account',
    () => ({ key: API_KEY, headers: { 'signpost-account': asker.accountId } }),
  ],
  ['a key for another project of the same account', () => ({ key: victim.restrictedKey })],
];

/** One answer of the API, without what differs from one answer to the next. */
async function ask({ key, headers: own }: Asking, probe: Probe): Promise<CallResult> {
  const { line, json, headers } = probe;
  return callApi(api, line, { key, headers: { ...own, ...headers }, ...(json && { json }) });
}

/** Every leak: an answer that is not the one for names of nobody, or that has a mark of the victim which was not sent. */
async function leaksFor(asking: Asking): Promise<readonly string[]> {
  const strangers = nobody();
  const asked = probesOf(routes, victim, asker);
  const twins = probesOf(routes, strangers, asker);
  const leaks: string[] = [];
  for (const [at, probe] of asked.entries()) {
    const [answer, twin] = [await ask(asking, probe), await ask(asking, twins[at] ?? probe)];
    const expected = renamed(twin.text, strangers);
    if (answer.status !== twin.status || (answer.status >= 400 && answer.text !== expected)) {
      leaks.push(`${probe.title}: ${answer.status} ${answer.text}, not ${twin.status} ${expected}`);
    }
    const sent = sentWith(asked, probe);
    const shown = victim.marks.filter((mark) => answer.text.includes(mark) && !sent.includes(mark));
    // Of its own account a key sees the account, and so much of its projects as it is for.
    if (asking.key !== victim.restrictedKey && shown.length > 0) {
      leaks.push(`${probe.title} shows ${shown}`);
    }
  }
  return leaks;
}

/** What the asker has written itself: the request, and for its own audit log every other one as well. */
function sentWith(asked: readonly Probe[], probe: Probe): string {
  const own = probe.route.operationId === 'listAudit' ? asked : [probe];
  return own.map(({ line, json }) => `${line} ${JSON.stringify(json ?? '')}`).join('\n');
}

/** The text with the victim's names in the place of nobody's. */
function renamed(text: string, strangers: Names): string {
  return Object.entries(strangers).reduce(
    (words, [name, value]) => words.replaceAll(value, victim[name as keyof Names]),
    text,
  );
}

/** Whether it asks for a list that goes on at a cursor. */
function isPaged({ route, line }: Probe): boolean {
  return route.query instanceof z.ZodObject && 'cursor' in route.query.shape && !line.includes('?');
}

/** Everything that is stored of the victim, row by row; when its keys were used is not looked at. */
async function stateOfVictim(): Promise<string> {
  const { pool } = whole.signpost.parts.database;
  const projects = `SELECT id FROM project WHERE account_id = '${victim.accountId}'`;
  const domains = `SELECT id FROM domain WHERE project_id IN (${projects})`;
  const statements = [
    `SELECT * FROM account WHERE id = '${victim.accountId}'`,
    `SELECT * FROM project WHERE account_id = '${victim.accountId}' ORDER BY id`,
    ...['deploy', 'domain', 'event', 'webhook', 'redirect'].map(
      (table) => `SELECT * FROM ${table} WHERE project_id IN (${projects}) ORDER BY 1, 2`,
    ),
    `SELECT * FROM hsts WHERE domain_id IN (${domains}) ORDER BY 1`,
    `SELECT id, ended_at FROM session WHERE api_key_id IN
      (SELECT id FROM api_key WHERE account_id = '${victim.accountId}') ORDER BY id`,
    `SELECT id, scopes, expires_at, revoked_at, successor_id, project_ids FROM api_key
      WHERE account_id = '${victim.accountId}' ORDER BY id`,
  ];
  const rows = [];
  for (const statement of statements) rows.push((await pool.query(statement)).rows);
  return JSON.stringify(rows);
}

describe('between accounts', () => {
  it('every operation with a body is asked', () => {
    expect(unknownBodies(routes)).toEqual([]);
    expect(probesOf(routes, victim, asker).length).toBeGreaterThan(50);
  });

  it.each(kinds)('%s reaches nothing of another one', async (_kind, asking) => {
    const before = await stateOfVictim();
    expect(await leaksFor(asking())).toEqual([]);
    expect(await stateOfVictim()).toBe(before);
  });

  it('its own key reaches all of it', async () => {
    for (const path of ['', '/domains', `/domains/${victim.hostname}`, '/webhooks']) {
      const line = `GET /v1/projects/${victim.projectId}${path}`;
      const { status, text } = await callApi(api, line, { key: victim.adminKey });
      expect([status, victim.marks.some((mark) => text.includes(mark))], line).toEqual([200, true]);
    }
  });

  it('a leak that is planted is found', async () => {
    const { projects } = whole.signpost.parts;
    const { find } = projects;
    Object.assign(projects, { find: (_: unknown, id: string) => find(installation, id) });
    try {
      const leaks = await leaksFor({ key: asker.readKey });
      expect(leaks.some((leak) => leak.startsWith('getProject'))).toBe(true);
      expect(leaks.some((leak) => leak.startsWith('getDomain (0)'))).toBe(true);
    } finally {
      Object.assign(projects, { find });
    }
  });

  it.each(kinds)('%s goes on from another one’s page in its own list', async (_kind, asking) => {
    const { key, headers = {} } = asking();
    const asked = probesOf(routes, victim, asker);
    const lists = asked.filter(isPaged);
    expect(lists.map(({ route }) => route.operationId)).toEqual(
      expect.arrayContaining(['listProjects', 'listKeys', 'listAudit']),
    );
    for (const probe of lists) {
      const { line, title } = probe;
      const first = await callApi(api, `${line}?limit=1`, { key: victim.adminKey });
      const cursor = /cursor=([\w-]+)/.exec(first.headers['link'] ?? '')?.[1];
      if (cursor === undefined || key === victim.restrictedKey) continue; // there is one page, or it is theirs
      const own = line.replaceAll(victim.projectId, asker.projectId);
      const { status, text } = await callApi(api, `${own}?cursor=${cursor}`, { key, headers });
      expect([200, 403, 404], title).toContain(status);
      const sent = sentWith(asked, probe);
      const shown = victim.marks.filter((mark) => text.includes(mark) && !sent.includes(mark));
      expect(shown, title).toEqual([]);
    }
  });

  it('an Idempotency-Key of one account never brings the answer of another', async () => {
    const make = (accountId: string) =>
      callApi(api, 'POST /v1/projects', {
        key: API_KEY,
        headers: { 'signpost-account': accountId, 'idempotency-key': 'shared' },
        json: { name: 'Twice', slug: 'twice', plan: 'pro' },
      });
    expect((await make(victim.accountId)).status).toBe(201);
    const { status, text } = await make(asker.accountId);
    expect([status, text.includes(victim.accountId)]).toEqual([201, false]);
    expect(text).toContain(asker.accountId);
  });
});
