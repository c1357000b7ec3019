import type { OperationAsks } from './operations.ts';
import type { Asking } from './requests.ts';

const noProject = { projectId: '00000000-0000-4000-8000-000000000000' };
const noDomain = 'nobody-added-this.shop.test';

const ofProject: Asking = ({ projectId }) => ({ params: { projectId } });
const toNoProject: Asking = () => ({ params: noProject });

const puts =
  (json: object): Asking =>
  ({ projectId, hostname }) => ({ params: { projectId, hostname }, json });

/** By operationId. */
export const edgeOperations: Readonly<Record<string, OperationAsks>> = {
  getSigningSecret: {
    success: [200, ofProject],
    refusals: [[404, 'project_not_found', toNoProject]],
  },
  rotateSigningSecret: {
    success: [200, ofProject],
    refusals: [[404, 'project_not_found', toNoProject]],
  },
  putDomainHsts: {
    success: [200, puts({ maxAge: 300 })],
    refusals: [
      [
        404,
        'project_not_found',
        () => ({ params: { ...noProject, hostname: noDomain }, json: { maxAge: 300 } }),
      ],
      [
        404,
        'domain_not_found',
        ({ projectId }) => ({ params: { projectId, hostname: noDomain }, json: { maxAge: 300 } }),
      ],
      [400, 'invalid_body', puts({ maxAge: 300, preload: true })],
    ],
    misfits: [[400, 'invalid_body', puts({ maxAge: -1 })]],
  },
  deleteDomainHsts: {
    success: [204, ({ projectId, hostname }) => ({ params: { projectId, hostname } })],
    refusals: [
      [404, 'project_not_found', () => ({ params: { ...noProject, hostname: noDomain } })],
    ],
  },
};
