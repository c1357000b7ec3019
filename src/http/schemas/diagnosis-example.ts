/** A host name that has no record yet, as the doctor sees it, for the OpenAPI document. */
import { docsDomain } from './domain-examples.ts';

const none = { kind: 'nxdomain' };

export const docsDiagnosis = {
  hostname: docsDomain.hostname,
  unicodeHostname: docsDomain.unicodeHostname,
  target: docsDomain.record.value,
  verdict: 'wrong',
  record: docsDomain.record,
  provider: null,
  findings: docsDomain.findings,
  observation: {
    at: '2026-11-20T12:00:01.250Z',
    view: 'authoritative',
    whyRecursive: null,
    delegation: {
      kind: 'delegated',
      zone: 'example.com',
      parent: 'com',
      atParent: ['ns1.example.com'],
      atZone: ['ns1.example.com'],
      ttlSeconds: 172_800,
    },
    servers: [
      {
        server: 'ns1.example.com',
        address: '192.0.2.53',
        state: 'answers',
        aa: true,
        rcode: 3,
        cname: none,
        a: none,
        aaaa: none,
        mx: null,
        txt: null,
        soa: { serial: 2_026_112_001, negativeTtlSeconds: 300 },
        rttMs: 12.5,
      },
    ],
    world: [],
    caa: [{ name: 'example.com', answer: { kind: 'nodata' } }],
    targetAddresses: [],
    cost: { questions: 11, bytes: 1_630, ms: 38.2 },
  },
};
