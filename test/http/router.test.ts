import { describe, expect, test } from 'vitest';
import type { Method } from '../../src/http/pipeline/route.ts';
import { createRouter, type RouteMatch } from '../../src/http/pipeline/router.ts';
import { cpuMs } from '../support/cpu-time.ts';
import { plainRoute } from './plain-route.ts';

const declare = (method: Method, path: string) => plainRoute({ method, path });

const find = createRouter([
  declare('GET', '/'),
  declare('GET', '/v1/pets'),
  declare('POST', '/v1/pets'),
  declare('GET', '/v1/pets/:petId'),
  declare('DELETE', '/v1/projects/:projectId/domains/:hostname'),
]);

/** The match as one line: the operation with its parameters, or the status. */
function reported(found: RouteMatch): string {
  if (found.kind === 'answer') {
    return `${found.answer.status} ${found.answer.headers?.['allow'] ?? ''}`.trim();
  }
  const params = Object.values(found.params).join(' ');
  return `${found.route.operationId} [${params}] ${found.query}`.trim();
}

describe('The router', () => {
  const rows: readonly [method: string, target: string, outcome: string][] = [
    ['GET', '/', 'GET / []'],
    ['GET', '/v1/pets', 'GET /v1/pets []'],
    ['HEAD', '/v1/pets', 'GET /v1/pets []'],
    ['GET', '/v1/pets?limit=5&status=sold', 'GET /v1/pets [] limit=5&status=sold'],
    ['GET', '/v1/pets?a=b?c', 'GET /v1/pets [] a=b%3Fc'],
    ['GET', 'http://any.example/v1/pets?limit=5', 'GET /v1/pets [] limit=5'],
    ['POST', '/v1/pets', 'POST /v1/pets []'],
    ['GET', '/v1/pets/7', 'GET /v1/pets/:petId [7]'],
    ['GET', '/v1/pets/a%2Fb', 'GET /v1/pets/:petId [a/b]'],
    ['GET', '/v1/%70ets', 'GET /v1/pets []'],
    [
      'DELETE',
      '/v1/projects/p/domains/b%C3%BCcher.example',
      'DELETE /v1/projects/:projectId/domains/:hostname [p bücher.example]',
    ],
    ['GET', '/v1/pets/', '404'],
    ['DELETE', '/v1/projects//domains/d', '404'],
    ['GET', '/V1/pets', '404'],
    ['GET', '/v1/pets/7/8', '404'],
    ['GET', '/v1//pets', '404'],
    ['GET', '/constructor', '404'],
    ['__proto__', '/', '405 GET, HEAD, OPTIONS'],
    ['PUT', '/v1/pets', '405 GET, POST, HEAD, OPTIONS'],
    ['BREW', '/v1/pets', '405 GET, POST, HEAD, OPTIONS'],
    ['HEAD', '/v1/projects/p/domains/d', '405 DELETE, OPTIONS'],
    ['GET', '/v1/projects/p/domains/d', '405 DELETE, OPTIONS'],
    ['OPTIONS', '/v1/pets', '204 GET, POST, HEAD, OPTIONS'],
    ['OPTIONS', '*', '204 GET, POST, PUT, PATCH, DELETE, HEAD, OPTIONS'],
    ['GET', '*', '400'],
    ['OPTIONS', '/nothing', '404'],
    ['GET', '/v1/pets/%', '400'],
    ['GET', '/v1/pets/%zz', '400'],
    ['GET', '/v1/pets/%C3%28', '400'],
    ['GET', '/v1/pets#here', '400'],
    ['GET', 'v1/pets', '400'],
    ['GET', '', '400'],
  ];
  test.each(rows)('%s %s', (method, target, outcome) => {
    expect(reported(find(method, target))).toBe(outcome);
  });

  test('accepts a target of 8 KiB and answers 414 to a longer one', () => {
    const [id, query] = ['7'.repeat(8_183), 'x'.repeat(8_183)];
    expect(reported(find('GET', `/v1/pets/${id}`))).toBe(`GET /v1/pets/:petId [${id}]`);
    expect(reported(find('GET', `/v1/pets?${query}`))).toBe(`GET /v1/pets [] ${query}=`);
    expect(reported(find('GET', `/v1/pets/${id}7`))).toBe('414');
    expect(reported(find('GET', `/v1/pets?${query}x`))).toBe('414');
  });

  test('handles a path of eight thousand percent signs fast', () => {
    const took = cpuMs(() => {
      find('GET', `/v1/pets/${'%2F'.repeat(2_700)}`);
      find('GET', `/${'/'.repeat(8_000)}`);
    });
    expect(took).toBeLessThan(200);
  });
});
