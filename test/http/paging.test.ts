import { describe, expect, it, test } from 'vitest';
import { isPaged, withNextLink } from '../../src/http/pipeline/paging.ts';
import { everyRoute } from '../support/every-route.ts';

const routes = everyRoute();
const listDomains =
  routes.find((one) => one.operationId === 'listDomains') ?? expect.fail('no such operation');

function linkTo(next: string | null | undefined, query: string, projectId = 'docs') {
  const asked = { route: listDomains, params: { projectId }, query: new URLSearchParams(query) };
  return withNextLink({ status: 200, body: [], ...(next !== undefined && { next }) }, asked);
}

describe('The Link to the next page', () => {
  const path = '/v1/projects/docs/domains';
  const cases: readonly (readonly [query: string, link: string])[] = [
    ['', `${path}?cursor=C`],
    ['limit=2', `${path}?limit=2&cursor=C`],
    ['limit=2&cursor=B', `${path}?limit=2&cursor=C`],
    ['cursor=B&status=live', `${path}?cursor=C&status=live`],
    ['search=%3E%3B%22&status=live', `${path}?search=%3E%3B%22&status=live&cursor=C`],
    ['metadata[customer]=4%202', `${path}?metadata%5Bcustomer%5D=4+2&cursor=C`],
  ];
  test.each(cases)('repeats the query %j with the new cursor', (query, link) => {
    expect(linkTo('C', query).headers).toEqual({ link: `<${link}>; rel="next"` });
  });

  it('encodes the parameters of the path', () => {
    expect(linkTo('C', '', 'a>b/ü').headers?.['link']).toContain('/a%3Eb%2F%C3%BC/domains?');
  });

  it.each([null, undefined])('is missing if the cursor is %s', (next) => {
    expect(linkTo(next, 'limit=2')).toEqual({ status: 200, body: [] });
  });

  it('is documented at every list, and only there', () => {
    const paged = routes.filter(isPaged).map(({ operationId }) => operationId);
    const lists = routes.filter((one) => one.success.description.startsWith('A page of'));
    expect(paged).toEqual(lists.map(({ operationId }) => operationId));
    expect(paged.length).toBeGreaterThan(10);
  });
});
