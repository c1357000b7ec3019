import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type EdgeFixture, startDeploy, startEdgeFixture } from './support/fixture.ts';

const [first, second] = ['docs.acme.test', 'shop.acme.test'] as const;
let edge: EdgeFixture;
let deploy: Awaited<ReturnType<typeof startDeploy>>;
beforeEach(async () => {
  // Cached routes stay valid while notifications arrive.
  edge = await startEdgeFixture({ routeFreshMs: 60_000 });
  deploy = await startDeploy((_request, response) => response.end('hello'));
  for (const name of [first, second]) await edge.publish(name, deploy.url);
});
afterEach(async () => {
  await edge.close();
  await deploy.close();
});

/**
 * Resolves when a certificate has been requested; the visitors of these tests arrive after it was
 * read.
 */
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
  it('waits for no query once the edge listens, because every name is preloaded', async () => {
    const ready = Promise.all([first, second].map(loaded));
    edge.edge.notify({ kind: 'listening', since: performance.now() });
    await ready;
    for (const hostname of [first, second]) {
      expect(await visitedInSilence(hostname)).toEqual([]);
    }
  });

  it('waits for no query right after the certificate is issued', async () => {
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

  it('is served even when preloading failed', async () => {
    edge.database.isUp = false;
    const asked = once(edge.lookups, 'route');
    edge.edge.notify({ kind: 'changed', hostname: first });
    await asked;
    edge.database.isUp = true;
    expect((await edge.https({ hostname: first })).body).toBe('hello');
    expect(edge.warnings).not.toContainEqual(expect.objectContaining({ level: 50 }));
  });

  it('is refused when the name was removed after preloading', async () => {
    const ready = loaded(first);
    edge.edge.notify({ kind: 'changed', hostname: first });
    await ready;
    edge.routes.delete(first);
    edge.edge.notify({ kind: 'gone', hostname: first });
    await expect(edge.https({ hostname: first })).rejects.toThrow(/handshake failure|ECONNRESET/i);
  });
});
