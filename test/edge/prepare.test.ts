/** A name that has its certificate is ready for its first visitor, who waits for no look-up and no key. */
import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type EdgeFixture, startDeploy, startEdgeFixture } from './support/fixture.ts';

const [first, second] = ['docs.acme.test', 'shop.acme.test'] as const;
let edge: EdgeFixture;
let deploy: Awaited<ReturnType<typeof startDeploy>>;
beforeEach(async () => {
  // As long as the database pushes every change, what was read counts.
  edge = await startEdgeFixture({ routeFreshMs: 60_000 });
  deploy = await startDeploy((_request, response) => response.end('hello'));
  for (const name of [first, second]) await edge.publish(name, deploy.url);
});
afterEach(async () => {
  await edge.close();
  await deploy.close();
});

/** Resolves when a certificate has been asked for; the visitors of these tests come after it was read. */
function loaded(certificateId: string): Promise<void> {
  return new Promise((resolve) => {
    edge.lookups.on('certificate', (id) => {
      if (id === certificateId) resolve();
    });
  });
}

async function visitedInSilence(hostname: string): Promise<unknown[]> {
  const asked: unknown[] = [];
  for (const event of ['route', 'certificate']) {
    edge.lookups.on(event, (what) => asked.push(event, what));
  }
  expect((await edge.https({ hostname })).body).toBe('hello');
  return asked;
}

describe('The first visitor of a name', () => {
  it('waits for nothing once the edge has listened: every name was made ready', async () => {
    const ready = Promise.all([first, second].map(loaded));
    edge.edge.notify({ kind: 'listening', since: performance.now() });
    await ready;
    for (const hostname of [first, second]) {
      expect(await visitedInSilence(hostname)).toEqual([]);
    }
  });

  it('waits for nothing where the name’s certificate has just come', async () => {
    await edge.https({ hostname: first });
    const route = edge.routes.get(first);
    const certificate = edge.certificates.get(first);
    if (route === undefined || certificate === undefined) throw new Error('not published');
    edge.certificates.set('renewed', certificate);
    edge.routes.set(first, { ...route, certificateId: 'renewed' });
    const ready = loaded('renewed');
    edge.edge.notify({ kind: 'changed', hostname: first });
    await ready;
    expect(await visitedInSilence(first)).toEqual([]);
  });

  it('is served all the same where nothing could be made ready', async () => {
    edge.database.isUp = false;
    const asked = once(edge.lookups, 'route');
    edge.edge.notify({ kind: 'changed', hostname: first });
    await asked;
    edge.database.isUp = true;
    expect((await edge.https({ hostname: first })).body).toBe('hello');
    expect(edge.warnings).not.toContainEqual(expect.objectContaining({ level: 50 }));
  });

  it('is refused where the name has been removed since it was made ready', async () => {
    const ready = loaded(first);
    edge.edge.notify({ kind: 'changed', hostname: first });
    await ready;
    edge.routes.delete(first);
    edge.edge.notify({ kind: 'gone', hostname: first });
    await expect(edge.https({ hostname: first })).rejects.toThrow(/handshake failure|ECONNRESET/i);
  });
});
