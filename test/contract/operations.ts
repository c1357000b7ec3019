/** For each operation: a successful request and its specific errors. */
import { accountOperations } from './account-operations.ts';
import { NO_PROJECT, noDomain, ofDomain, ofProject, toNoDomain, toNoProject } from './askings.ts';
import type { Context } from './context.ts';
import { edgeOperations } from './edge-operations.ts';
import { keyOperations } from './key-operations.ts';
import { operatorOperations } from './operator-operations.ts';
import { projectOperations } from './project-operations.ts';
import { type Asking, adding } from './requests.ts';
import { serviceOperations } from './service-operations.ts';
import { liveProjectId, waitingHostname } from './services.ts';
import { webhookOperations } from './webhook-operations.ts';

export type OperationAsks = {
  readonly success: readonly [status: number, asking: Asking];
  /** Status, code, and a request that gets them. */
  readonly refusals?: readonly (readonly [status: number, code: string, asking: Asking])[];
  /** Requests that both the service and the document reject. */
  readonly misfits?: readonly (readonly [status: number, code: string, asking: Asking])[];
};

const adds =
  (hostname: string): Asking =>
  ({ projectId }) => ({ params: { projectId }, json: { hostname } });

const puts =
  (settings: (context: Context) => object): Asking =>
  (context) => ({
    params: { projectId: context.projectId },
    json: { domains: { primary: null, redirects: [], ...settings(context) } },
  });

/** Each of two letters: from and to. The domain `b` is the primary one. */
const putsRedirects = (...redirects: readonly string[]): Asking =>
  puts(({ hostname: a, hostnameInUse: b, hostnameThatRedirects: c }) => {
    const names: Readonly<Record<string, string>> = { a, b, c };
    const nameOf = (letter = '') => names[letter];
    return {
      primary: b,
      redirects: redirects.map(([from, to]) => ({
        from: nameOf(from),
        to: nameOf(to),
        status: 301,
      })),
    };
  });

const diagnoses =
  (hostname: string): Asking =>
  () => ({ params: { hostname }, query: { target: 'p1.edge.signpost.test' } });

/** By operationId. A test in test/contract/contract.test.ts fails for a missing operation. */
export const operations: Readonly<Record<string, OperationAsks>> = {
  ...projectOperations,
  listDomains: {
    success: [
      200,
      ({ projectId }) => ({
        params: { projectId },
        query: { limit: '1', status: 'pending', search: 'shop', 'metadata[site]': 'handbook' },
      }),
    ],
    refusals: [[404, 'project_not_found', toNoProject()]],
    misfits: [
      [
        400,
        'invalid_query',
        ({ projectId }) => ({ params: { projectId }, query: { status: 'gone' } }),
      ],
    ],
  },
  listAllDomains: {
    success: [200, ({ hostname }) => ({ query: { hostname } })],
    misfits: [[400, 'invalid_query', () => ({ query: { limit: '101' } })]],
  },
  getDomainById: {
    success: [200, ({ domainId }) => ({ params: { domainId } })],
    refusals: [[404, 'domain_not_found', () => ({ params: { domainId: NO_PROJECT } })]],
  },
  addDomain: {
    success: [
      201,
      ({ projectId, unique }) => ({
        params: { projectId },
        json: { hostname: `new.shop-${unique}.test` },
      }),
    ],
    refusals: [
      [404, 'project_not_found', toNoProject({ hostname: noDomain })],
      [400, 'invalid_hostname', adds('not a host name')],
      [400, 'wildcard_unsupported', adds('*.shop.test')],
      [400, 'platform_hostname', adds('docs.edge.signpost.test')],
      [400, 'public_suffix', adds('co.uk')],
      [
        403,
        'paid_plan_required',
        ({ freeProjectId }) => ({
          params: { projectId: freeProjectId },
          json: { hostname: noDomain },
        }),
      ],
      [
        409,
        'deploy_required',
        ({ undeployedProjectId }) => ({
          params: { projectId: undeployedProjectId },
          json: { hostname: noDomain },
        }),
      ],
      [
        409,
        'domain_exists',
        ({ projectId, hostname }) => ({ params: { projectId }, json: { hostname } }),
      ],
    ],
  },
  getDomain: {
    success: [200, ofDomain],
    refusals: [
      [404, 'project_not_found', toNoProject(undefined, noDomain)],
      [404, 'domain_not_found', toNoDomain],
    ],
  },
  updateDomain: {
    success: [
      200,
      ({ projectId, hostname }) => ({
        params: { projectId, hostname },
        json: { metadata: { site: 'handbook', gone: null } },
      }),
    ],
    refusals: [
      [404, 'project_not_found', toNoProject({ metadata: {} }, noDomain)],
      [
        404,
        'domain_not_found',
        ({ projectId }) => ({ params: { projectId, hostname: noDomain }, json: { metadata: {} } }),
      ],
    ],
    misfits: [
      [
        400,
        'invalid_body',
        ({ projectId, hostname }) => ({
          params: { projectId, hostname },
          json: { metadata: { site: 7 } },
        }),
      ],
    ],
  },
  verifyDomain: {
    success: [202, ofDomain],
    refusals: [
      [
        403,
        'paid_plan_required',
        () => ({ params: { projectId: liveProjectId, hostname: waitingHostname } }),
      ],
      [404, 'project_not_found', toNoProject(undefined, noDomain)],
      [404, 'domain_not_found', toNoDomain],
    ],
  },
  removeDomain: {
    success: [
      204,
      ({ projectId, hostnameToRemove }) => ({
        params: { projectId, hostname: hostnameToRemove },
      }),
    ],
    refusals: [
      [404, 'project_not_found', toNoProject(undefined, noDomain)],
      [404, 'domain_not_found', toNoDomain],
      [
        409,
        'domain_in_use',
        ({ projectId, hostnameInUse }) => ({ params: { projectId, hostname: hostnameInUse } }),
      ],
    ],
  },
  getDomainSettings: {
    success: [200, ofProject],
    refusals: [[404, 'project_not_found', toNoProject()]],
  },
  putDomainSettings: {
    success: [200, putsRedirects('ab')],
    refusals: [
      [404, 'project_not_found', toNoProject({ domains: { primary: null, redirects: [] } })],
      [400, 'too_many_redirects', putsRedirects(...Array<string>(101).fill('ab'))],
      [400, 'redirect_status', puts(() => ({ redirects: [{ from: 'a', to: 'b', status: 303 }] }))],
      [400, 'settings_unknown_host', puts(() => ({ primary: noDomain }))],
      [400, 'redirect_to_itself', putsRedirects('aa')],
      [400, 'redirect_twice', putsRedirects('ab', 'ac')],
      [400, 'primary_redirects', putsRedirects('ba')],
      [400, 'redirect_loop', putsRedirects('ac', 'ca')],
      [400, 'redirect_chain', putsRedirects('ca', 'ab')],
      [
        412,
        'precondition_failed',
        (context) => adding(putsRedirects('ab')(context), { 'if-match': '"another"' }),
      ],
    ],
    misfits: [
      [
        400,
        'invalid_body',
        ({ projectId }) => ({ params: { projectId }, json: { domains: { primary: null } } }),
      ],
    ],
  },
  getDomainTimeline: {
    success: [200, ofDomain],
    refusals: [
      [404, 'project_not_found', toNoProject(undefined, noDomain)],
      [404, 'domain_not_found', toNoDomain],
    ],
  },
  streamEvents: {
    success: [200, ofProject],
    refusals: [
      [404, 'project_not_found', toNoProject()],
      [
        404,
        'domain_not_found',
        ({ projectId }) => ({ params: { projectId }, query: { hostname: noDomain } }),
      ],
    ],
    misfits: [
      [
        400,
        'invalid_last_event_id',
        ({ projectId }) => ({ params: { projectId }, headers: { 'last-event-id': 'x' } }),
      ],
    ],
  },
  diagnoseHostname: {
    // In the zone of the test lab (services.ts).
    success: [200, diagnoses('docs.shop.test')],
    refusals: [
      [400, 'invalid_hostname', diagnoses('not a host name')],
      [400, 'wildcard_unsupported', diagnoses('*.shop.test')],
      [400, 'platform_hostname', diagnoses('docs.edge.signpost.test')],
      [400, 'public_suffix', diagnoses('co.uk')],
    ],
  },

  ...edgeOperations,
  ...operatorOperations,
  ...webhookOperations,
  ...keyOperations,
  ...accountOperations,
  ...serviceOperations,
};
