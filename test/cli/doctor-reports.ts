/** Handwritten diagnoses. */

import type { FindingShown } from '../../src/cli/lines.ts';
import type {
  AnswerShown,
  Report,
  ReportObservation,
  ResolverRow,
  ServerRow,
} from '../../src/cli/shown.ts';

export const target = 'k3jw5xqm2c7rtzna.edge.signpost.test';

export const nodata: AnswerShown = { kind: 'nodata' };
export const nxdomain: AnswerShown = { kind: 'nxdomain' };
export const timeout: AnswerShown = { kind: 'timeout' };

export function records(...all: readonly string[]): AnswerShown {
  return { kind: 'records', records: [...all], ttlSeconds: 300 };
}

export function server(name: string, shown: Partial<ServerRow> = {}): ServerRow {
  return {
    server: name,
    address: '192.0.2.53',
    state: 'answers',
    aa: true,
    rcode: 0,
    cname: nodata,
    a: nodata,
    aaaa: nodata,
    mx: null,
    txt: null,
    soa: { serial: 2_026_112_001, negativeTtlSeconds: 300 },
    rttMs: 12.5,
    ...shown,
  };
}

export function resolver(shown: Partial<ResolverRow> = {}): ResolverRow {
  return {
    server: '192.0.2.1',
    cname: records(target),
    a: nodata,
    aaaa: nodata,
    negativeTtlSeconds: null,
    authenticated: true,
    answersUnchecked: null,
    errors: [],
    rttMs: 3.2,
    ...shown,
  };
}

export function finding(shown: Partial<FindingShown> = {}): FindingShown {
  return {
    code: 'record_missing',
    severity: 'blocks',
    actor: 'customer',
    summary: 'docs.shop.test does not exist in the DNS yet.',
    expected: `CNAME docs → ${target}, TTL 3600`,
    found: 'No record exists at docs.shop.test (NXDOMAIN).',
    action: `Create: CNAME docs → ${target}, TTL 3600. Most providers add the domain automatically: enter only “docs” as the name.`,
    hints: [],
    ...shown,
  };
}

/** Of a provider. */
export const noLinks = { dnsUrl: null, siteUrl: null };

export function report(
  rest: Partial<Omit<Report, 'observation'>> & {
    readonly observation?: Partial<ReportObservation>;
  } = {},
): Report {
  const { observation, ...top } = rest;
  const { record = { type: 'CNAME', name: 'docs', value: target, ttl: 3_600n } } = top;
  const isRight = top.verdict === 'right' || top.findings?.length === 0;
  const change = isRight
    ? ({ verb: 'keep', state: 'done' } as const)
    : ({ verb: 'add', state: 'to_do' } as const);
  const { type, name, value } = record;
  return {
    hostname: 'docs.shop.test',
    unicodeHostname: 'docs.shop.test',
    target,
    verdict: 'wrong',
    record,
    provider: null,
    changes: [{ ...change, type, name, value, ttl: 3_600, servers: [] }],
    findings: [finding()],
    ...top,
    observation: {
      at: '2026-11-20T12:00:01.250Z',
      view: 'authoritative',
      whyRecursive: null,
      delegation: {
        kind: 'delegated',
        zone: 'shop.test',
        parent: 'test',
        atParent: ['ns1.shop.test', 'ns2.shop.test'],
        atZone: ['ns1.shop.test', 'ns2.shop.test'],
        ttlSeconds: 3_600,
      },
      servers: [
        server('ns1.shop.test', { cname: nxdomain, a: nxdomain, aaaa: nxdomain, rcode: 3 }),
        server('ns2.shop.test', { cname: nxdomain, a: nxdomain, aaaa: nxdomain, rcode: 3 }),
      ],
      world: [],
      caa: [
        { name: 'docs.shop.test', answer: { kind: 'nxdomain' } },
        { name: 'shop.test', answer: { kind: 'nodata' } },
      ],
      targetAddresses: [],
      cost: { questions: 11, bytes: 1_630, ms: 38.2 },
      ...observation,
    },
  };
}
