/** What is asked of each operation: the request that it is there for, and those that it alone refuses. */
import { accountOperations } from './account-operations.ts';
import { aDeploy, type Context } from './context.ts';
import { edgeOperations } from './edge-operations.ts';
import { keyOperations } from './key-operations.ts';
import { operatorOperations } from './operator-operations.ts';
import { type Asking, adding, NO_PROJECT } from './requests.ts';
import { serviceOperations } from './service-operations.ts';
import { webhookOperations } from './webhook-operations.ts';

export type OperationAsks = {
  readonly success: readonly [status: number, asking: Asking];
  /** Status, code, and a request that is answered so. */
  readonly refusals?: readonly (readonly [status: number, code: string, asking: Asking])[];
  /** A request that the service refuses and that the document does not allow either. */
  readonly misfits?: readonly (readonly [status: number, code: string, asking: Asking])[];
};

const NO_PET = '999999999';
const noProject = { projectId: NO_PROJECT };
const noDomain = 'nobody-added-this.shop.test';

const ofPet: Asking = ({ petId }) => ({ params: { petId } });
const ofProject: Asking = ({ projectId }) => ({ params: { projectId } });
const ofDomain: Asking = ({ projectId, hostname }) => ({ params: { projectId, hostname } });

const toNoProject =
  (json?: object, hostname?: string): Asking =>
  () => ({
    params: { ...noProject, ...(hostname !== undefined && { hostname }) },
    ...(json !== undefined && { json }),
  });
const toNoDomain: Asking = ({ projectId }) => ({ params: { projectId, hostname: noDomain } });

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

/** By operationId. An operation that is not here fails the test of test/contract/contract.test.ts that looks for it. */
export const operations: Readonly<Record<string, OperationAsks>> = {
  listPets: {
    success: [200, () => ({ query: { limit: '5', status: 'available' } })],
    misfits: [
      [400, 'invalid_query', () => ({ query: { limit: '0' } })],
      [400, 'invalid_query', () => ({ query: { status: 'lost' } })],
    ],
  },
  createPet: {
    success: [201, ({ unique }) => ({ json: { name: `Rex ${unique}`, categoryId: 7 } })],
    misfits: [
      [400, 'invalid_body', () => ({ json: { name: '', categoryId: 7 } })],
      [400, 'invalid_body', () => ({ json: { name: 'Rex', categoryId: 7.5 } })],
    ],
  },
  getPet: {
    success: [200, ofPet],
    refusals: [[404, 'pet_not_found', () => ({ params: { petId: NO_PET } })]],
    misfits: [[404, 'pet_not_found', () => ({ params: { petId: 'rex' } })]],
  },

  listProjects: {
    success: [200, () => ({ query: { hostname: 'docs.shop.test' } })],
    misfits: [[400, 'invalid_query', () => ({ query: { hostname: 'a'.repeat(2_049) } })]],
  },
  createProject: {
    success: [
      201,
      ({ unique }) => ({ json: { name: 'Docs', slug: `new-${unique}`, plan: 'pro' } }),
    ],
    refusals: [
      [409, 'slug_taken', ({ unique }) => ({ json: { name: 'Docs', slug: `docs-${unique}` } })],
      [
        403,
        'restricted_key',
        ({ restrictedKey }) => ({
          json: { name: 'Docs', slug: 'docs' },
          headers: { authorization: `Bearer ${restrictedKey}` },
        }),
      ],
      [
        403,
        'installation_only',
        ({ accountKey }) => ({
          json: { name: 'Docs', slug: 'docs', plan: 'enterprise' },
          headers: { authorization: `Bearer ${accountKey}` },
        }),
      ],
    ],
    misfits: [[400, 'invalid_body', () => ({ json: { name: 'Docs', slug: 'No slug' } })]],
  },
  getProject: { success: [200, ofProject], refusals: [[404, 'project_not_found', toNoProject()]] },
  updateProject: {
    success: [200, ({ projectId }) => ({ params: { projectId }, json: { name: 'Documentation' } })],
    refusals: [
      [404, 'project_not_found', toNoProject({ name: 'Documentation' })],
      [
        403,
        'installation_only',
        ({ accountKey, accountProjectId }) => ({
          params: { projectId: accountProjectId },
          json: { plan: 'enterprise' },
          headers: { authorization: `Bearer ${accountKey}` },
        }),
      ],
    ],
  },
  createDeploy: {
    success: [201, ({ projectId }) => ({ params: { projectId }, json: aDeploy })],
    refusals: [[404, 'project_not_found', toNoProject(aDeploy)]],
  },

  listDomains: { success: [200, ofProject], refusals: [[404, 'project_not_found', toNoProject()]] },
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
  verifyDomain: {
    success: [202, ofDomain],
    refusals: [
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
    // In the zone of the laboratory (services.ts).
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
  ...accountOperations,
  ...keyOperations,
  ...serviceOperations,
};
