/** What customers do over HTTP: they add domains. */
import { addProject, post } from '../support/service.ts';
import { hostnameOf } from './settings.ts';

/** Below what a project may add in an hour (src/http/routes/domains.ts). */
const DOMAINS_A_PROJECT = 40;
const AT_ONCE = 8;

/** Adds so many domains, eight at a time, each with what adding one does: row, event, job. */
export async function addDomains(url: string, count: number): Promise<void> {
  let [next, projectId] = [0, ''];
  const lane = async () => {
    while (next < count) {
      const nth = next++;
      if (nth % DOMAINS_A_PROJECT === 0) projectId = await addProject(url, `shop-${nth}`);
      await post(`${url}/v1/projects/${projectId}/domains`, { hostname: hostnameOf(nth) });
    }
  };
  projectId = await addProject(url, 'shop');
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
}
