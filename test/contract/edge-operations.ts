/** What is asked of the operations on what the edge says to deploys and visitors. */
import type { OperationAsks } from './operations.ts';
import type { Asking } from './requests.ts';

const noProject = { projectId: '00000000-0000-4000-8000-000000000000' };

const ofProject: Asking = ({ projectId }) => ({ params: { projectId } });
const toNoProject: Asking = () => ({ params: noProject });

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
};
