/** Requests that several operations share. */
import type { Asking } from './requests.ts';

export const NO_PROJECT = '00000000-0000-4000-8000-000000000000';
export const noProject = { projectId: NO_PROJECT };
export const noDomain = 'nobody-added-this.shop.test';

export const ofProject: Asking = ({ projectId }) => ({ params: { projectId } });
export const ofDomain: Asking = ({ projectId, hostname }) => ({ params: { projectId, hostname } });

export const toNoProject =
  (json?: object, hostname?: string): Asking =>
  () => ({
    params: { ...noProject, ...(hostname !== undefined && { hostname }) },
    ...(json !== undefined && { json }),
  });
export const toNoDomain: Asking = ({ projectId }) => ({
  params: { projectId, hostname: noDomain },
});
