/** A project with more domains than a page: they come 25 at a time, and are searched by name and status. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DomainStatus } from '../../src/core/life/lifecycle.ts';
import { aStoredProject } from '../support/access.ts';
import { type Pages, startPages } from './support/pages.ts';

let pages: Pages;
beforeAll(async () => {
  pages = await startPages();
  await pages.signIn(await pages.keyWith('domains:read', 'domains:write'));
});
afterAll(() => pages?.close());

/** A project with domains `d0.shop.test`, `d1.shop.test` and so on, in the order of their adding. */
async function aProject(
  count: number,
  statusOf: (n: number) => DomainStatus = () => 'pending',
): Promise<string> {
  const { id: projectId } = await aStoredProject(pages.prisma);
  await pages.prisma.project.update({
    where: { id: projectId },
    data: { deployedAt: pages.clock.now },
  });
  const at = (n: number) => new Date(pages.clock.now.getTime() + n);
  await pages.prisma.domain.createMany({
    data: Array.from({ length: count }, (_, n) => ({
      id: crypto.randomUUID(),
      projectId,
      hostname: `d${n}.${projectId.slice(0, 8)}.test`,
      target: 'x.edge.test',
      status: statusOf(n),
      addedAt: at(n),
      pendingSince: at(n),
    })),
  });
  return `/projects/${projectId}/domains`;
}
const namesIn = (text: string) =>
  [...text.matchAll(/class="title" href="[^"]*">(d\d+)\./g)].map(([, n]) => n);
const nextIn = (text: string) =>
  /rel="next" href="([^"]+)"/.exec(text)?.[1]?.replaceAll('&amp;', '&') ?? null;
const numbered = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, n) => `d${from + n}`);

describe('a project with many domains', () => {
  it('shows 25 at a time, with the way to the next ones and back to the first', async () => {
    const path = await aProject(60);
    const first = await pages.show(`GET ${path}`);
    const second = await pages.show(`GET ${nextIn(first.text)}`);
    const third = await pages.show(`GET ${nextIn(second.text)}`);
    expect([first, second, third].map(({ text }) => namesIn(text))).toEqual([
      numbered(0, 25),
      numbered(25, 50),
      numbered(50, 60),
    ]);
    expect([nextIn(third.text), first.text.includes('First page')]).toEqual([null, false]);
    expect(third.text).toContain(`href="${path}">First page</a>`);
  });

  it('asks for a page of them alone, however many there are', async () => {
    const path = await aProject(1_100);
    const [project] = path.split('/domains');
    const one = /href="([^"]+\/remove)"/.exec((await pages.show(`GET ${path}`)).text)?.[1];
    const before = pages.lines.length;
    for (const asked of [path, `${project}/settings`, one]) {
      expect((await pages.show(`GET ${asked}`)).status).toBe(200);
    }
    const lists = pages.lines
      .slice(before)
      .filter(({ fields }) => fields['operationId'] === 'listDomains');
    // One each, and the live ones beside for the page that removes one.
    expect(lists).toHaveLength(4);
  });

  it('finds those with a part of the name and a status, from page to page', async () => {
    const path = await aProject(80, (n) => (n % 2 === 0 ? 'live' : 'failed'));
    const found = await pages.show(`GET ${path}?part=D&status=live`);
    expect(namesIn(found.text)).toEqual(numbered(0, 50).filter((_, n) => n % 2 === 0));
    const next = await pages.show(`GET ${nextIn(found.text)}`);
    expect(namesIn(next.text)).toEqual(numbered(50, 80).filter((_, n) => n % 2 === 0));
    expect(next.text).toContain('name="part" value="D"');
    expect(next.text).toContain('<option value="live" selected');
    expect(namesIn((await pages.show(`GET ${path}?part=d7&status=failed`)).text)).toEqual([
      'd7',
      'd71',
      'd73',
      'd75',
      'd77',
      'd79',
    ]);
  });

  it('says where nothing matches, and leads to all of them', async () => {
    const path = await aProject(7);
    const { status, text } = await pages.show(`GET ${path}?part=nobody`);
    expect([status, namesIn(text)]).toEqual([200, []]);
    expect(text).toContain('No domains match');
    expect(text).toContain(`href="${path}">Show all</a>`);
    expect(text).not.toContain('No custom domains');
  });

  it('offers no search where there are few', async () => {
    for (const [count, isOffered] of [
      [0, false],
      [5, false],
      [6, true],
    ] as const) {
      const { text } = await pages.show(`GET ${await aProject(count)}`);
      expect(text.includes('<search>')).toBe(isOffered);
    }
  });

  it('says what is wrong with a filter that the API does not take', async () => {
    const path = await aProject(7);
    expect((await pages.show(`GET ${path}?status=asleep`)).status).toBe(400);
  });
});
