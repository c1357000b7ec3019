import { X509Certificate } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createLocalAuthority, type LocalRoot } from '../../src/certificates/authorities/local.ts';
import { generatePrivateKey } from '../../src/certificates/vault/keys.ts';
import { isForKey, readCertificate } from '../../src/certificates/x509.ts';
import { DAY } from '../../src/core/time.ts';

const now = new Date('2026-11-20T12:00:00Z');

/** As in the database, the first root stored wins. */
function createRootStore() {
  let kept: LocalRoot | null = null;
  return {
    loadRoot: async () => kept,
    keepRoot: async (root: LocalRoot) => {
      kept ??= root;
      return kept;
    },
  };
}

function authorityOver(store = createRootStore(), held: readonly string[] = ['docs.acme.test']) {
  return createLocalAuthority({
    ...store,
    isHeld: async (hostname) => held.includes(hostname),
    now: () => now,
  });
}

function recordSteps() {
  const placed: string[] = [];
  return {
    placed,
    beforePlacing: async () => undefined,
    orderPlaced: async (url: string) => {
      placed.push(url);
    },
    publishChallenge: async () => {
      throw new Error('unexpected call');
    },
  };
}

async function issue(hostname = 'docs.acme.test', authority = authorityOver()) {
  const privateKey = generatePrivateKey();
  const steps = recordSteps();
  const result = await authority.advance({ hostname, orderUrl: null, privateKey }, steps);
  if (result.kind !== 'issued') throw new Error(`refused: ${result.problem.detail}`);
  return { result, privateKey, steps, root: await authority.rootCertificate() };
}

describe('The local CA', () => {
  it('issues a certificate for the requested name and key, valid for 90 days', async () => {
    const { result, privateKey, steps } = await issue();
    const facts = readCertificate(result.chain);
    expect(facts.hostnames).toEqual(['docs.acme.test']);
    expect(result.notAfter.getTime() - result.notBefore.getTime()).toBe(90 * DAY);
    expect(result.notBefore < now && now < result.notAfter).toBe(true);
    expect(result.issuer).toMatch(/^Signpost local authority [0-9a-f]{8}$/);
    expect(isForKey(result.chain, privateKey)).toBe(true);
    expect(steps.placed).toHaveLength(1);
  });

  it('signs with a CA root and sets the key usage of a server certificate', async () => {
    const { result, root } = await issue();
    const [leaf, issuer] = [new X509Certificate(result.chain), new X509Certificate(root)];
    expect(leaf.verify(issuer.publicKey) && leaf.checkIssued(issuer)).toBe(true);
    expect(issuer.ca).toBe(true);
    expect(issuer.verify(issuer.publicKey)).toBe(true);
    expect(leaf.ca).toBe(false);
    expect(leaf.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1']); // serverAuth
    expect(leaf.checkHost('docs.acme.test')).toBe('docs.acme.test');
  });

  it('gives every certificate a unique serial number', async () => {
    const authority = authorityOver();
    const issued = await Promise.all([1, 2, 3].map(() => issue('docs.acme.test', authority)));
    const serials = issued.map(({ result }) => new X509Certificate(result.chain).serialNumber);
    expect(new Set(serials).size).toBe(3);
  });

  it('issues for a name too long for a common name', async () => {
    const hostname = `${'a'.repeat(63)}.${'b'.repeat(63)}.test`;
    const { result } = await issue(hostname, authorityOver(createRootStore(), [hostname]));
    expect(readCertificate(result.chain).hostnames).toEqual([hostname]);
  });

  it('refuses a name without a domain', async () => {
    const result = await authorityOver().advance(
      { hostname: 'bank.test', orderUrl: null, privateKey: generatePrivateKey() },
      recordSteps(),
    );
    expect(result).toMatchObject({ kind: 'refused', problem: { type: 'rejected_identifier' } });
  });

  it('resumes an order without placing another', async () => {
    const steps = recordSteps();
    const order = { hostname: 'docs.acme.test', orderUrl: 'local:1' };
    const result = await authorityOver().advance(
      { ...order, privateKey: generatePrivateKey() },
      steps,
    );
    expect(result.kind).toBe('issued');
    expect(steps.placed).toEqual([]);
  });

  it('has one root for all processes that start at once', async () => {
    const store = createRootStore();
    const authorities = [1, 2, 3].map(() => authorityOver(store));
    const roots = await Promise.all(authorities.map((authority) => authority.rootCertificate()));
    expect(new Set(roots).size).toBe(1);
  });

  it('loads its root again after a failure', async () => {
    const store = createRootStore();
    let failures = 1;
    const authority = authorityOver({
      ...store,
      loadRoot: async () => {
        if (failures-- > 0) throw new Error('database gone');
        return store.loadRoot();
      },
    });
    await expect(authority.rootCertificate()).rejects.toThrow('database gone');
    await expect(authority.rootCertificate()).resolves.toContain('BEGIN CERTIFICATE');
  });
});
