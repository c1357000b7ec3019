/**
 * Requests at a steady rate, even if earlier ones are not answered yet. A client that waits for each answer
 * would send the fewest requests when the service is slowest.
 */
import { headers } from '../support/service.ts';
import { PROJECT_ID } from './servers.ts';
import { hostnameOf } from './settings.ts';

export const operations = ['GET domain', 'GET pets', 'POST domain'] as const;
export type Operation = (typeof operations)[number];

/** `at`: time of the request; `ms`: until the whole answer was read. */
export type Answer = { readonly operation: Operation; readonly at: number; readonly ms: number };

/** By operation. */
const PER_SECOND = 40;

/** Sends requests until `stop`, which resolves to all answers and rejects unless all are 2xx. */
export function startRequests(url: string, projectId: string) {
  const asked: Promise<Answer>[] = [];
  let count = 0;
  const timer = setInterval(() => {
    count += 1;
    for (const operation of operations) {
      const answer = ask(operation, request(operation, url, projectId, count));
      answer.catch(() => undefined); // `stop` reports it
      asked.push(answer);
    }
  }, 1_000 / PER_SECOND);
  return {
    async stop(): Promise<readonly Answer[]> {
      clearInterval(timer);
      return Promise.all(asked);
    },
  };
}

async function ask(operation: Operation, request: Request): Promise<Answer> {
  const [at, start] = [Date.now(), performance.now()];
  const response = await fetch(request);
  const said = await response.text();
  if (!response.ok) throw new Error(`${operation}: ${response.status} ${said}`);
  return { operation, at, ms: performance.now() - start };
}

function request(operation: Operation, url: string, projectId: string, nth: number): Request {
  switch (operation) {
    case 'GET domain': {
      const path = `/v1/projects/${PROJECT_ID}/domains/${hostnameOf(nth % 1_000)}`;
      return new Request(url + path, { headers });
    }
    case 'GET pets':
      return new Request(`${url}/v1/pets?limit=20`, { headers });
    case 'POST domain': {
      const path = `/v1/projects/${projectId}/domains`;
      const body = JSON.stringify({ hostname: `new-${hostnameOf(nth)}` });
      return new Request(url + path, { method: 'POST', headers, body });
    }
  }
}
