/** A case on its first day, for the OpenAPI document. */
import { docsDomain } from './domain-examples.ts';

export const docsCase = {
  id: '0198c1f2-9a10-4d3b-8f1e-5a7c2b9d4e60',
  projectId: docsDomain.projectId,
  domainId: '0198c1f2-8b20-4e6a-9c3d-1f7a5b2d8e90',
  hostname: docsDomain.hostname,
  cause: 'challenge_unreachable',
  summary:
    'The certificate authority cannot fetch its challenge from the domain. On port 80, 192.0.2.10 answers as it should; 2001:db8::10 refuses the connection. It says: “2001:db8::10: connection refused”',
  nextAction:
    'The addresses are asked again at 2026-11-20 12:30 UTC, and every few minutes after that; the order is placed as soon as none of them fails.',
  evidence: {
    findings: [],
    problem: {
      type: 'connection',
      detail: '2001:db8::10: connection refused',
      retryAfter: null,
    },
    refusals: 2,
    budget: null,
    probes: [
      { address: '192.0.2.10', outcome: 'reachable', status: null },
      { address: '2001:db8::10', outcome: 'refused', status: null },
    ],
    setback: null,
    quarantine: null,
    nextAttempt: {
      order: 'new',
      at: '2026-11-20T12:30:00.000Z',
      thenAt: '2026-11-20T13:59:00.000Z',
    },
    servedUntil: null,
  },
  openedAt: '2026-11-20T12:30:00.000Z',
  closedAt: null,
};
