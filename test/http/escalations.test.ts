import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { wholeInstallation } from '../../src/core/access.ts';
import type {
  EscalationCause,
  EscalationEvidence,
} from '../../src/core/certificates/escalation.ts';
import { escalationWords } from '../../src/core/certificates/escalation-words.ts';
import { HOUR } from '../../src/core/time.ts';
import { createDomainStore } from '../../src/db/domains/domains.ts';
import { openEscalation, readEvidence } from '../../src/db/issuance/escalations.ts';
import { createProjectStore } from '../../src/db/projects.ts';
import { cursorAfterPlace, placeOfCursor } from '../../src/http/pipeline/cursor.ts';
import { domainView } from '../../src/http/routes/domain-view.ts';
import { escalationRoutes } from '../../src/http/routes/escalations.ts';
import { docsEscalation } from '../../src/http/schemas/escalations.ts';
import { createOverview } from '../../src/service/overview.ts';
import { later, missing, noon } from '../support/builders.ts';
import { callApi, errorBody, startTestApi, type TestApi } from './support.ts';

let api: TestApi;
let key: string;

beforeAll(async () => {
  api = await startTestApi((service) => escalationRoutes(service, createOverview(service)));
  api.clock.now = later(noon, HOUR);
  key = await api.keyWith('ops:read');
});
afterAll(() => api.close());
beforeEach(() => api.prisma.escalation.deleteMany());

let count = 0;

async function aCase(
  cause: EscalationCause,
  parts: Partial<EscalationEvidence> = {},
  openedAt = noon,
) {
  count += 1;
  const project = await createProjectStore(api.prisma).create(wholeInstallation, {
    name: 'Docs',
    slug: `docs-${count}`,
    plan: 'pro',
  });
  const hostname = `docs-${count}.example.com`;
  const projectId = project?.id ?? '';
  const store = createDomainStore(api.prisma);
  const added = await store.add(
    wholeInstallation,
    { projectId, hostname, target: `x${count}.edge.test` },
    noon,
  );
  const id = added?.id ?? '';
  const state = { status: 'verified', pendingSince: noon, verifiedAt: noon } as const;
  await api.prisma.domain.update({ where: { id }, data: state });
  const domain = { id, epoch: 1, state, certificateEndsAt: null };
  const evidence = { ...readEvidence({}), ...parts };
  const escalation = { cause, evidence, ...escalationWords(cause, evidence) };
  const times = { at: openedAt, againAt: later(openedAt, HOUR) };
  await openEscalation(api.prisma, domain, escalation, times);
  return { projectId, hostname, cause, evidence, ...escalationWords(cause, evidence, 'operator') };
}

async function list(query = '') {
  const answer = await callApi(api.api, `GET /v1/escalations${query}`, { key });
  expect(answer.status).toBe(200);
  const cases = answer.body as readonly Record<string, unknown>[];
  const next = /^<([^>]+)>; rel="next"$/.exec(answer.headers['link'] ?? '')?.[1];
  return { cases, next };
}

describe('GET /v1/escalations', () => {
  it('returns an escalation with its project, texts and evidence', async () => {
    const { projectId, hostname, summary, nextAction } = await aCase('challenge_unreachable', {
      findings: missing.findings,
      problem: { type: 'connection', detail: 'Timeout.' },
      refusals: 2,
      probes: [
        { address: '192.0.2.1', outcome: 'other_answer', status: 301 },
        { address: '2001:db8::1', outcome: 'timeout' },
      ],
      quarantine: { reason: 'Error: no such file', until: noon.toISOString() },
      // Only one check so far, so no notification yet.
      candidate: 'dns_unknown',
    });
    const { cases } = await list();
    expect(cases).toEqual([
      {
        id: expect.any(String),
        projectId,
        domainId: expect.any(String),
        hostname,
        cause: 'challenge_unreachable',
        summary,
        nextAction,
        evidence: {
          findings: [expect.objectContaining({ code: 'record_missing', actor: 'customer' })],
          problem: { type: 'connection', detail: 'Timeout.', retryAfter: null },
          refusals: 2n,
          budget: null,
          probes: [
            { address: '192.0.2.1', outcome: 'other_answer', status: 301n },
            { address: '2001:db8::1', outcome: 'timeout', status: null },
          ],
          setback: null,
          quarantine: { reason: 'Error: no such file', until: noon.toISOString() },
          nextAttempt: null,
          servedUntil: null,
        },
        openedAt: noon.toISOString(),
        closedAt: null,
      },
    ]);
  });

  it('uses the text that the customer sees at the domain', async () => {
    const { projectId, hostname } = await aCase('authority_refused', {
      problem: { type: 'malformed', detail: 'No.' },
    });
    const found = await createDomainStore(api.prisma).find(wholeInstallation, projectId, hostname);
    const shown = found && domainView(found, HOUR, noon).escalation;
    const [{ openedAt, cause, summary, nextAction } = {}] = (await list()).cases;
    expect(shown).toEqual({ openedAt: noon, cause, summary, nextAction });
    expect(openedAt).toBe(noon.toISOString());
  });

  it('promises no further action for a closed escalation', async () => {
    await aCase('platform_fault');
    await api.prisma.escalation.updateMany({ data: { closedAt: later(noon, HOUR) } });
    const closedAt = later(noon, HOUR).toISOString();
    expect((await list('?status=closed')).cases).toMatchObject([{ closedAt, nextAction: null }]);
    expect((await list('?status=open')).cases).toEqual([]);
  });

  it('pages newest first, and every escalation is on exactly one page', async () => {
    for (let hour = 0; hour < 5; hour += 1)
      await aCase('platform_fault', {}, later(noon, hour * HOUR));
    const pages = [];
    for (let query: string | undefined = '?limit=2&status=open'; query !== undefined; ) {
      const { cases, next } = await list(query);
      pages.push(cases.map(({ openedAt }) => openedAt));
      query = next?.replace('/v1/escalations', '');
    }
    const opened = [4, 3, 2, 1, 0].map((hour) => later(noon, hour * HOUR).toISOString());
    expect(pages).toEqual([opened.slice(0, 2), opened.slice(2, 4), opened.slice(4)]);
  });

  it('leaves out a cause of a newer version', async () => {
    await aCase('platform_fault');
    await api.prisma.escalation.updateMany({ data: { cause: 'from_the_future' } });
    expect((await list()).cases).toEqual([]);
  });

  it('shows an escalation of the first version, which stored less', async () => {
    await aCase('authority_refused');
    await api.prisma.escalation.updateMany({ data: { evidence: { findings: [], problem: null } } });
    expect((await list()).cases).toMatchObject([
      { summary: 'The certificate authority refused the order.', evidence: { probes: [] } },
    ]);
  });

  it.each([
    'limit=0',
    'limit=101',
    'status=new',
    'cursor=AQ',
    'cursor=',
    `cursor=${Buffer.alloc(23, 255).toString('base64url')}`,
    `cursor=${Buffer.from([1, ...Buffer.alloc(22, 255)]).toString('base64url')}`,
  ])('rejects %s', async (query) => {
    const answer = await callApi(api.api, `GET /v1/escalations?${query}`, { key });
    expect(answer).toMatchObject({ status: 400, body: errorBody(400, 'invalid_query') });
  });

  it('requires the scope of operators', async () => {
    const customers = await api.keyWith('domains:read');
    const answer = await callApi(api.api, 'GET /v1/escalations', { key: customers });
    expect(answer.status).toBe(403);
  });
});

describe('The cursor of GET /v1/escalations', () => {
  it('is the position after an escalation and rejects anything else', () => {
    const place = { at: later(noon, 7), id: '0198c1f2-9a10-4d3b-8f1e-5a7c2b9d4e60' };
    expect(placeOfCursor(cursorAfterPlace(place))).toEqual(place);
    expect(placeOfCursor(`${cursorAfterPlace(place)}A`)).toBeNull();
  });
});

describe('The example in the OpenAPI document', () => {
  it('is worded like an escalation with this evidence', () => {
    const { evidence, summary, nextAction } = docsEscalation;
    const { problem, probes, nextAttempt } = evidence;
    const { type, detail } = problem;
    const stored = readEvidence({ problem: { type, detail }, refusals: 2, probes, nextAttempt });
    expect(escalationWords('challenge_unreachable', stored)).toEqual({ summary, nextAction });
  });
});
