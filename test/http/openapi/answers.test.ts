import { describe, expect, it, test } from 'vitest';
import type { EventType } from '../../../src/core/life/events.ts';
import type { Certificate, Escalation } from '../../../src/core/records.ts';
import type { DomainDetails } from '../../../src/db/domains/domain-list.ts';
import { eventView } from '../../../src/events/event-stream.ts';
import { domainView } from '../../../src/http/routes/domain-view.ts';
import { renderJson } from '../../../src/net/json.ts';
import { noon } from '../../support/builders.ts';
import { type Answered, expectDocumented } from '../../support/contract.ts';
import { everyRoute } from '../../support/every-route.ts';

const routes = everyRoute();
const projectId = '00000000-0000-0000-0000-00000000000a';
const path = `/v1/projects/${projectId}/domains/docs.example.com`;
const json = { 'content-type': 'application/json; charset=utf-8' };
const ok = (body: unknown): Answered => ({ status: 200, headers: json, text: renderJson(body) });

describe('The OpenAPI document covers', () => {
  const finding = { code: 'plan_required', hostname: 'example.com' } as const;

  const events: { readonly [T in EventType]: object } = {
    'domain.added': {
      record: { type: 'CNAME', name: 'docs', value: 't.edge.test', ttl: 3600 },
    },
    'domain.removed': {
      primary: true,
      redirects: [{ from: 'a.example', to: 'b.example', status: 308 }],
    },
    'domain.verified': { findings: [] },
    'domain.live': { issuer: 'Local', expiresAt: noon.toISOString() },
    'domain.failed': { reason: 'window_ended', findings: [finding] },
    'domain.drifted': { findings: [finding] },
    'domain.recovered': { findings: [] },
    'domain.unverified': { findings: [finding] },
    'certificate.ended': { expiresAt: '2026-11-20T12:00:00.000Z' },
    'domain.reverify_requested': { count: 300, lastAt: noon.toISOString() },
    'domain.claimed_elsewhere': { proof: 'cname', found: 't.edge.test' },
    'domain.contested': { isPublished: true },
    'domain.findings_changed': { appeared: [finding], cleared: [] },
    'certificate.issued': { issuer: 'Local', expiresAt: noon.toISOString() },
    'certificate.renewed': { issuer: 'Local', expiresAt: noon.toISOString() },
    'certificate.failed': { problem: 'rate_limited', detail: 'Too many.' },
    'escalation.opened': {
      cause: 'caa_unknown',
      summary: 'The CAA question gets no answer.',
      nextAction: 'It is asked again.',
    },
    'escalation.closed': { cause: 'caa_unknown', reason: 'certificate_issued' },
  };
  test.each(Object.entries(events))('the event %s', (type, data) => {
    const event = eventView({
      number: 2n ** 63n - 1n,
      type,
      data: data as never,
      at: noon,
      domainId: '00000000-0000-0000-0000-00000000000d',
      metadata: null,
      projectMetadata: null,
      metadataCopy: { site: 'handbook' },
      projectMetadataCopy: {},
      domain: { hostname: 'docs.shop.test' },
    });
    expectDocumented(routes, `GET ${path}/timeline`, ok([event]));
  });

  const domain = {
    id: '00000000-0000-0000-0000-00000000000d',
    projectId,
    hostname: 'xn--bcher-kva.example',
    target: 't.edge.test',
    status: 'pending',
    epoch: 1,
    version: 3,
    attempts: 3,
    findings: [finding],
    observation: null,
    addedAt: noon,
    pendingSince: noon,
    lastCheckedAt: noon,
    nextCheckAt: noon,
    verifiedAt: null,
    missedAt: null,
    escalateAt: null,
    removedAt: null,
    driftedAt: null,
    failedAt: null,
    recheckAt: null,
    renewAt: null,
    certificateEndsAt: null,
    renewalInfoAt: null,
    shown: null,
    watchedUntil: null,
    certificates: [],
    escalations: [],
    hsts: null,
    metadata: { site: 'handbook' },
  } as const satisfies DomainDetails;
  const certificate = {
    status: 'ordering',
    problem: null,
    issuedAt: null,
    expiresAt: null,
    createdAt: noon,
    endedAt: null,
  } as const;
  const problem = { type: 'caa', detail: 'No.' };
  const end = new Date(noon.getTime() + 86_400_000);
  const certificates: readonly (readonly [string, Partial<Certificate>])[] = [
    ['under way', certificate],
    ['refused', { ...certificate, status: 'failed', problem }],
    ['stored', { ...certificate, status: 'issued', issuedAt: noon, expiresAt: end, issuer: 'R1' }],
  ] as const;
  const escalation = { openedAt: noon, cause: 'dns_unknown', evidence: {} };
  const domains: readonly (readonly [string, Partial<DomainDetails>])[] = [
    ['that is pending', {}],
    ['with HSTS', { hsts: { maxAge: 300, includeSubdomains: true, preload: false } }],
    ['that is live', { status: 'live', verifiedAt: noon, findings: [], nextCheckAt: null }],
    ['with an open escalation', { status: 'verified', escalations: [escalation as Escalation] }],
    ...certificates.map(
      ([name, one]) =>
        [
          `with a certificate ${name}`,
          { status: 'verified', certificates: [{ issuer: null, ...one } as Certificate] },
        ] as const,
    ),
  ];
  test.each(domains)('a domain %s', (_name, parts) => {
    const view = domainView({ ...domain, ...parts }, 1_000, noon);
    expectDocumented(routes, `GET ${path}`, ok(view));
    expectDocumented(routes, `GET /v1/projects/${projectId}/domains`, ok([view]));
    expectDocumented(routes, `POST ${path}/verify`, { ...ok(view), status: 202 });
  });
});

describe('expectDocumented', () => {
  const pet = '{"id":9007199254740993,"name":"Rex","categoryId":7,"status":"sold"}';
  const refusal = (status: number, code: string): Answered => ({
    status,
    headers: json,
    text: renderJson({ code, message: 'No.', status }),
  });
  const good: readonly (readonly [string, Answered])[] = [
    ['GET /v1/pets/1', { status: 200, headers: json, text: pet }],
    ['HEAD /v1/pets/1', { status: 200, headers: json, text: '' }],
    ['GET /v1/pets/1', { status: 304, headers: {}, text: '' }],
    ['GET /v1/pets/1', refusal(404, 'pet_not_found')],
    ['GET /v1/pets/1', refusal(500, 'internal_error')],
    ['POST /v1/pets', refusal(409, 'idempotency_key_in_use')],
    ['DELETE /v1/pets', refusal(405, 'method_not_allowed')],
    ['GET /v2', refusal(404, 'not_found')],
    ['OPTIONS /v1/pets', { status: 204, headers: {}, text: '' }],
    [`DELETE ${path}`, { status: 204, headers: {}, text: '' }],
  ];
  it.each(good)('accepts %s %j', (line, answer) => {
    expect(() => expectDocumented(routes, line, answer)).not.toThrow();
  });

  const bad: readonly (readonly [what: string, line: string, Answered])[] = [
    ['an undocumented status', 'GET /v1/pets/1', { status: 201, headers: json, text: pet }],
    ['no content type', 'GET /v1/pets/1', { status: 200, headers: {}, text: pet }],
    [
      'an extra field',
      'GET /v1/pets/1',
      ok({ id: 1, name: 'R', categoryId: 7, status: 'sold', age: 3 }),
    ],
    ['a missing field', 'GET /v1/pets/1', ok({ id: 1, name: 'R', categoryId: 7 })],
    ['an id as text', 'GET /v1/pets/1', ok({ id: '1', name: 'R', categoryId: 7, status: 'sold' })],
    [
      'an id outside of int64',
      'GET /v1/pets/1',
      ok({ id: 2n ** 63n, name: 'R', categoryId: 7, status: 'sold' }),
    ],
    [
      'an undocumented value',
      'GET /v1/pets/1',
      ok({ id: 1, name: 'R', categoryId: 7, status: 'lost' }),
    ],
    ['a body that is not JSON', 'GET /v1/pets/1', { status: 200, headers: json, text: '{' }],
    ['a body with 304', 'GET /v1/pets/1', { status: 304, headers: json, text: pet }],
    ['304 to a POST', 'POST /v1/pets', { status: 304, headers: {}, text: '' }],
    ['a body with 204', `DELETE ${path}`, { status: 204, headers: {}, text: '{}' }],
    ['a body for HEAD', 'HEAD /v1/pets/1', { status: 200, headers: json, text: pet }],
    ['an error code of another operation', 'GET /v1/pets', refusal(404, 'pet_not_found')],
    ['an error code of another status', 'GET /v1/pets/1', refusal(400, 'pet_not_found')],
    ['an unknown error code', 'GET /v1/pets/1', refusal(404, 'lost')],
    [
      'an error with extra fields',
      'GET /v1/pets/1',
      {
        status: 404,
        headers: json,
        text: '{"code":"pet_not_found","message":"No.","status":404,"stack":"at"}',
      },
    ],
    ['a success that is not documented', 'GET /v2', ok({})],
  ];
  it.each(bad)('rejects %s: %s', (_what, line, answer) => {
    expect(() => expectDocumented(routes, line, answer)).toThrow();
  });
});
