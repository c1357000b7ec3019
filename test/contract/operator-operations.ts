import type { OperationAsks } from './operations.ts';
import type { Asking } from './requests.ts';

const ofDomain: Asking = ({ domainId }) => ({ params: { domainId } });
const ofNone: Asking = () => ({ params: { domainId: '00000000-0000-4000-8000-000000000000' } });

const running =
  (queue: string, of = ofDomain): Asking =>
  (context) => ({ ...of(context), json: { queue } });

export const operatorOperations = {
  listEscalations: {
    success: [200, () => ({ query: { limit: '5', status: 'open' } })],
    misfits: [
      [400, 'invalid_query', () => ({ query: { limit: '101' } })],
      [400, 'invalid_query', () => ({ query: { status: 'new' } })],
    ],
  },
  closeEscalation: {
    success: [200, ({ escalationId }) => ({ params: { escalationId } })],
    refusals: [
      [404, 'escalation_not_found', ({ domainId }) => ({ params: { escalationId: domainId } })],
    ],
  },
  getOperationsOverview: { success: [200, () => ({})] },
  listProcesses: { success: [200, () => ({})] },
  acceptConfiguration: {
    success: [200, ({ processId }) => ({ params: { processId } })],
    refusals: [[404, 'process_not_found', ({ domainId }) => ({ params: { processId: domainId } })]],
  },
  searchDomains: {
    success: [200, () => ({ query: { hostname: 'held.shop' } })],
    misfits: [[400, 'invalid_query', () => ({ query: { hostname: 'held', limit: '0' } })]],
  },
  getWatchedDomain: { success: [200, ofDomain], refusals: [[404, 'domain_not_found', ofNone]] },
  runDomainJob: {
    success: [202, running('check-dns')],
    refusals: [
      [404, 'domain_not_found', running('check-dns', ofNone)],
      [409, 'nothing_waits', running('issue-certificate')],
    ],
    misfits: [[400, 'invalid_body', running('no-such-queue')]],
  },
  verifyWatchedDomain: { success: [202, ofDomain], refusals: [[404, 'domain_not_found', ofNone]] },
} as const satisfies Readonly<Record<string, OperationAsks>>;
