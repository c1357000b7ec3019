/** Adds domains over HTTP, as customers do. */
import { addProject, post } from '../support/service.ts';
import { hostnameOf } from './settings.ts';

const AT_ONCE = 8;

/** Adds this many domains, eight at a time. Each addition writes a row, an event and a job. */
export async function addDomains(url: string, count: number): Promise<void> {
  const projectId = await addProject(url, 'shop');
  let next = 0;
  const lane = async () => {
    while (next < count) {
      const hostname = hostnameOf(next++);
      await post(`${url}/v1/projects/${projectId}/domains`, { hostname });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
}
