import { expect, it } from 'vitest';
import { keepCertificates } from '../../src/edge/tls/secure-contexts.ts';

const MIB = 1024 * 1024;

function setUp(chain: string) {
  const asked: string[] = [];
  const stored = new Set(['a', 'b']);
  const load = keepCertificates(async (id) => {
    asked.push(id);
    return stored.has(id) ? { chain, sealedKey: new Uint8Array(8) } : null;
  });
  return { asked, stored, load };
}

it('A certificate is loaded once, even for concurrent handshakes', async () => {
  const { asked, load } = setUp('PEM');
  await Promise.all([load('a'), load('a')]);
  expect(await load('a')).toMatchObject({ chain: 'PEM' });
  expect(asked).toEqual(['a']);
});

it('A missing certificate is requested again', async () => {
  const { asked, stored, load } = setUp('PEM');
  expect(await load('new')).toBeNull();
  stored.add('new');
  expect(await load('new')).not.toBeNull();
  expect(asked).toEqual(['new', 'new']);
});

it('The least recently used certificates are dropped first, even from a small cache', async () => {
  const { asked, load } = setUp('x'.repeat(40 * MIB));
  for (const id of ['a', 'b', 'b', 'a']) await load(id);
  expect(asked).toEqual(['a', 'b', 'a']);
});
