import { inClosedAccount, inNoAccount } from './account-operations.ts';
import { NO_PROJECT, noProject, ofProject, toNoProject } from './askings.ts';
import { aDeploy } from './context.ts';
import type { OperationAsks } from './operations.ts';
import type { Asking } from './requests.ts';
import { liveProjectId } from './services.ts';

const inProject =
  (asking: Asking): Asking =>
  (context) => ({ ...asking(context), params: { projectId: context.projectId } });
const NO_PET = '999999999';
const ofPet: Asking = ({ petId }) => ({ params: { petId } });

/** Pets, projects and deploys. */
export const projectOperations: Readonly<Record<string, OperationAsks>> = {
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
      [
        403,
        'key_restricted',
        ({ restrictedKey, unique }) => ({
          headers: { authorization: `Bearer ${restrictedKey}` },
          json: { name: 'Docs', slug: `no-${unique}` },
        }),
      ],
      [404, 'account_not_found', inNoAccount({ name: 'Docs', slug: 'docs' })],
      [409, 'account_closed', inClosedAccount({ name: 'Docs', slug: 'docs' })],
      [409, 'slug_taken', ({ unique }) => ({ json: { name: 'Docs', slug: `docs-${unique}` } })],
    ],
    misfits: [[400, 'invalid_body', () => ({ json: { name: 'Docs', slug: 'No slug' } })]],
  },
  getProject: { success: [200, ofProject], refusals: [[404, 'project_not_found', toNoProject()]] },
  updateProject: {
    success: [200, ({ projectId }) => ({ params: { projectId }, json: { name: 'Documentation' } })],
    refusals: [
      [404, 'project_not_found', toNoProject({ name: 'Documentation' })],
      [404, 'account_not_found', inProject(inNoAccount({}))],
      [409, 'account_closed', inProject(inClosedAccount({}))],
      [409, 'slug_taken', inProject(({ accountId }) => ({ json: { accountId } }))],
    ],
  },
  deleteProject: {
    success: [204, ({ projectIdToDelete }) => ({ params: { projectId: projectIdToDelete } })],
    refusals: [
      [404, 'project_not_found', toNoProject()],
      [409, 'project_has_live_domains', () => ({ params: { projectId: liveProjectId } })],
    ],
    misfits: [
      [
        400,
        'invalid_query',
        ({ projectIdToDelete }) => ({
          params: { projectId: projectIdToDelete },
          query: { domains: 'keep' },
        }),
      ],
    ],
  },
  createDeploy: {
    success: [201, ({ projectId }) => ({ params: { projectId }, json: aDeploy })],
    refusals: [[404, 'project_not_found', toNoProject(aDeploy)]],
  },
  listDeploys: {
    success: [200, ({ projectId }) => ({ params: { projectId }, query: { limit: '1' } })],
    refusals: [[404, 'project_not_found', toNoProject()]],
  },
  getDeploy: {
    success: [200, ({ projectId, deployId }) => ({ params: { projectId, deployId } })],
    refusals: [
      [404, 'project_not_found', () => ({ params: { ...noProject, deployId: NO_PROJECT } })],
      [
        404,
        'deploy_not_found',
        ({ projectId }) => ({ params: { projectId, deployId: NO_PROJECT } }),
      ],
    ],
  },
};
