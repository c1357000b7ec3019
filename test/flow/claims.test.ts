/** Two projects, one name: the DNS decides, the loser is notified, and the winner is served. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, it, vi } from 'vitest';
import * as challengePath from '../../src/certificates/reach/challenge-path.ts';
import { DEFAULT_ACCOUNT_ID } from '../../src/core/records.ts';
import { type Client, createClient } from '../support/client.ts';
import { closeAfterEach } from '../support/closings.ts';
import { type RunningService, startService } from '../support/service.ts';
import { freshStorage } from '../support/storage.ts';
import { until, visitDomain, type World } from '../support/world.ts';

const PATH = '../../src/certificates/reach/challenge-path.ts';
vi.mock('../../src/certificates/reach/challenge-path.ts', { spy: true });

const closings = closeAfterEach();
const address = '@ A 127.0.0.1';

async function start(env: Readonly<Record<string, string>> = {}): Promise<RunningService> {
  const { storage, close } = await freshStorage();
  closings.push(close);
  const service = await startService({ storage, ca: 'local authority', env });
  closings.push(service.close);
  return service;
}

/** An apex, whose address proves no ownership, and two projects that may add it. */
async function startApex() {
  const { world } = await start({ PLATFORM_ADDRESSES: '127.0.0.1' });
  const apex = { ...world, hostname: world.zone };
  return { apex, one: createClient(apex), other: createClient(apex) };
}

/** Adds the apex, and creates its record after a check that found none. */
async function settle({ apex, one }: Awaited<ReturnType<typeof startApex>>) {
  await one.addDomain();
  await until('a check without the record', async () =>
    (await one.domain()).findings.some(({ code }) => code === 'record_missing'),
  );
  await apex.publish([address]);
  await until('the first is live', async () => (await one.domain()).status === 'live');
}

const txt = (...values: readonly string[]) => values.map((one) => `_signpost TXT "${one}"`);
const valueIn = ({ expected }: { readonly expected: string }) =>
  /signpost-domain-verification=[a-z2-7]{32}/.exec(expected)?.[0] ?? '';

describe('a name added by two projects', () => {
  it('goes to the project its record points to, and moves with the record', async () => {
    const service = await start();
    const { world, signpost } = service;
    const [one, other] = [service.client, createClient(world)];
    const first = await one.addDomain();
    const second = await other.addDomain();
    expect(second.record.value).not.toBe(first.record.value);

    await world.publish([`docs CNAME ${first.record.value}.`]);
    await until('the first is live', async () => (await one.domain()).status === 'live');
    await until('the event of the second', async () =>
      (await other.domain()).findings.some(({ code }) => code === 'cname_mismatch'),
    );

    await world.publish([`docs CNAME ${second.record.value}.`]);
    await until('the second is live', async () => (await other.domain()).status === 'live');
    expect((await one.domain()).status).toBe('pending');
    await until('the event of the first', async () =>
      (await one.story()).includes('+cname_mismatch'),
    );
    expect(await one.story()).toContain('domain.claimed_elsewhere');
    const roots = await world.rootCertificates(signpost.service.rootCertificate);
    expect((await visitDomain(world, roots)).status).toBe(200);
  }, 180_000);
});

describe('an apex added by two projects', () => {
  it('goes to the project with the TXT record, and moves with it', async () => {
    const started = await startApex();
    const { apex, one, other } = started;
    await settle(started);
    await other.addDomain();
    const proofOf = (client: Client, wanted = 'There is no TXT record') =>
      until('the requested record', async () => {
        const [finding] = (await client.domain()).findings;
        if (finding?.code !== 'held_elsewhere' || !finding.found.includes(wanted)) return null;
        expect(finding.actor).toBe('customer');
        return valueIn(finding);
      });
    const first = await proofOf(other);
    await apex.publish([address, ...txt('v=of another service')]);
    await other.call('POST', `${other.domainPath}/verify`);
    expect(await proofOf(other, 'v=of another service')).toBe(first);
    // The record of a removed claim proves nothing: the next claim has its own.
    await other.call('DELETE', other.domainPath);
    await apex.publish([address, ...txt(first)]);
    const again = await other.addAgain();
    expect(again.findings).toEqual([]);
    const theirs = await proofOf(other, first);
    expect(theirs).not.toBe(first);
    expect((await one.domain()).status).toBe('live');

    await apex.publish([address, ...txt(theirs)]);
    await until('the second is live', async () => (await other.domain()).status === 'live');
    const lost = await claimsIn(one);
    const evidence = { proof: 'txt', found: `_signpost.${apex.hostname}` };
    expect(lost).toEqual([evidence]);
    const ours = await proofOf(one, theirs);
    expect(await one.story()).toContain('domain.contested');

    // Both records at once: it stays with its holder.
    await apex.publish([address, ...txt(theirs, ours)]);
    await until('the finding of the first', async () =>
      (await one.domain()).findings.some(({ action }) => action.includes('Delete the other TXT')),
    );
    expect((await other.domain()).status).toBe('live');

    await apex.publish([address, ...txt(ours)]);
    await until('the first is live again', async () => (await one.domain()).status === 'live');
    expect(await claimsIn(other)).toEqual([evidence]);
    expect(await claimsIn(one)).toEqual(lost);
  }, 180_000);
});

describe('an apex also added by another project before it is live', () => {
  it('stays free for its owner, who gets it with the TXT record', async () => {
    const { apex, one: owner, other: stranger } = await startApex();
    await owner.addDomain();
    await stranger.addDomain();
    await apex.publish([address]);
    // The other project calls verify first, so its check is the first to see the address.
    await stranger.call('POST', `${stranger.domainPath}/verify`);
    const [, wanted] = [await heldIn(stranger), await heldIn(owner)];
    expect(wanted.actor).toBe('customer');
    expect(wanted.action).toContain('create a TXT record with the name “_signpost”');
    const value = valueIn(wanted);
    expect((await stranger.domain()).status).toBe('pending');

    await apex.publish([address, `_signpost TXT "${value}"`]);
    await until('the owner is live', async () => (await owner.domain()).status === 'live');
    expect((await stranger.domain()).status).toBe('pending');
    expect(await stranger.story()).not.toContain('domain.verified');
    expect(await stranger.story()).not.toContain('domain.claimed_elsewhere');
  }, 180_000);

  it('goes to its address once the other project removes it', async () => {
    const { apex, one: owner, other } = await startApex();
    await owner.addDomain();
    await other.addDomain();
    await until('a check without the record', async () =>
      (await owner.domain()).findings.some(({ code }) => code === 'record_missing'),
    );
    await apex.publish([address]);
    await heldIn(owner);
    await other.call('DELETE', other.domainPath);
    await until('the owner is live', async () => (await owner.domain()).status === 'live');
  }, 180_000);
});

describe('an apex that a project left, while its A record stays', () => {
  it('is live for no project, not even the same one, before the TXT record', async () => {
    const started = await startApex();
    const { apex, one: owner, other: sameAccount } = started;
    await settle(started);
    const { key, accountId } = await keyOfNewAccount(owner);
    await owner.call('DELETE', owner.domainPath);

    const stranger = createClient({ ...apex, apiKey: key });
    for (const client of [stranger, sameAccount]) {
      await client.addDomain();
      await client.call('POST', `${client.domainPath}/verify`);
      const finding = await heldIn(client);
      expect(finding.summary).toContain('Another project used');
      await client.call('DELETE', client.domainPath);
    }
    // The account of the project that had it does not matter.
    const [, , , projectId] = owner.domainPath.split('/');
    const moved = await owner.call('PATCH', `/v1/projects/${projectId}`, { accountId });
    expect(moved.status).toBe(200);
    await stranger.addAgain();
    expect((await heldIn(stranger)).summary).toContain('Another project used');
    await stranger.call('DELETE', stranger.domainPath);

    await owner.addAgain();
    const wanted = await heldIn(owner, 'ownership_unproven');
    expect(wanted.summary).toContain('had our addresses in every check');
    expect(await owner.story()).not.toContain('+held_elsewhere');
    await apex.publish([address, ...txt(valueIn(wanted))]);
    await until('it is live', async () => (await owner.domain()).status === 'live');
    expect(await stranger.story()).not.toContain('domain.verified');
    expect(await sameAccount.story()).not.toContain('domain.verified');
  }, 180_000);

  it('is not live for a key that is limited to another project', async () => {
    const started = await startApex();
    const { apex, one: owner, other } = started;
    await settle(started);
    await other.addDomain();
    const [, , , projectId] = other.domainPath.split('/');
    const scopes = ['domains:read', 'domains:write'];
    const created = await owner.call('POST', '/v1/keys', {
      name: 'limited',
      scopes,
      accountId: DEFAULT_ACCOUNT_ID,
      projectIds: [projectId],
    });
    const { key } = created.body as { key: string };
    await owner.call('DELETE', owner.domainPath);
    const response = await fetch(`${apex.apiUrl}${other.domainPath}/verify`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
    });
    expect(response.status).toBe(202);
    expect((await heldIn(other)).summary).toContain('Another project');
    expect(await other.story()).not.toContain('domain.verified');
  }, 180_000);
});

describe('a name that leads here by records of others', () => {
  it('is not live by a CNAME to another project’s target, directly, by a wildcard or by a chain', async () => {
    const { world, client: owner } = await start();
    const { record } = await owner.addDomain();
    await world.publish([`docs CNAME ${record.value}.`]);
    await until('the owner is live', async () => (await owner.domain()).status === 'live');
    await owner.call('DELETE', owner.domainPath);
    const stranger = createClient(world);
    await stranger.addDomain();
    const records = [
      [`docs CNAME ${record.value}.`],
      [`* CNAME ${record.value}.`],
      ['docs CNAME hop', `hop CNAME ${record.value}.`],
    ];
    for (const lines of records) {
      await world.publish(lines);
      await stranger.call('POST', `${stranger.domainPath}/verify`);
      await until('a check of the record', async () => {
        const { findings, checks } = await stranger.domain();
        return checks.attempts > 0 && findings.some(({ code }) => code === 'cname_mismatch');
      });
    }
    expect(await stranger.story()).not.toContain('domain.verified');
  }, 180_000);
});

/** Passes requests on to the edge like Cloudflare, whose addresses are reached here. */
async function startProxy(edgePort: number): Promise<number> {
  const proxy = createServer(({ method, url, headers }, response) => {
    const asking = request({ host: '127.0.0.1', port: edgePort, method, path: url, headers });
    asking.on('response', (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    asking.on('error', () => response.writeHead(502).end()).end();
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  closings.push(() => new Promise((resolve) => proxy.close(resolve)));
  const { port: http } = proxy.address() as AddressInfo; // it listens on TCP
  const { reachAddresses: reach } = await vi.importActual<typeof challengePath>(PATH);
  const spied = vi.mocked(challengePath.reachAddresses);
  spied.mockImplementation((rules, name, addresses, schemes) => {
    const isProxied = addresses.every((one) => one.startsWith('104.16.'));
    return isProxied
      ? reach({ ...rules, ports: { ...rules.ports, http } }, name, ['127.0.0.1'], schemes)
      : reach(rules, name, addresses, schemes);
  });
  closings.push(async () => void spied.mockReset());
  return http;
}

async function startUpstream(body: string): Promise<string> {
  const server = createServer((_, response) => void response.end(body));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closings.push(() => new Promise((resolve) => server.close(resolve)));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // it listens on TCP
}

async function shownAt(port: number, { hostname }: World): Promise<string> {
  const asking = request({ host: '127.0.0.1', port, headers: { host: hostname } });
  const [answer] = (await once(asking.end(), 'response')) as [IncomingMessage];
  return `${answer.statusCode} ${await text(answer)}`;
}

describe('a wildcard that leads here through a proxy', () => {
  it('proves none of its names for a stranger, but the TXT record does', async () => {
    const { world, signpost } = await start();
    const proxy = await startProxy(world.edgeHttpPort);
    const login = { ...world, hostname: `login.${world.zone}` };
    const owner = createClient({ ...world, upstream: await startUpstream('of A') });
    const stranger = createClient({ ...login, upstream: await startUpstream('of B') });
    await world.publish(['ada.ns A 127.0.0.1'], 'cloudflare.com');
    // A name with a record below it is not covered by a wildcard (RFC 4592, 2.2.2).
    const wildcard = ['@ NS ada.ns.cloudflare.com.', '* A 104.16.1.1'];
    await world.publish(wildcard);

    await owner.addDomain();
    const ofOwner = valueIn(await heldIn(owner, 'ownership_unproven'));
    const ofA = ['docs A 104.16.1.1', `_signpost.docs TXT "${ofOwner}"`];
    await world.publish([...wildcard, ...ofA]);
    await until('A is live', async () => (await owner.domain()).status === 'live');

    await stranger.addDomain();
    const wanted = await heldIn(stranger, 'ownership_unproven');
    await stranger.call('POST', `${stranger.domainPath}/verify`);
    await until('another check', async () => (await stranger.domain()).checks.attempts > 1);
    expect(await stranger.domain()).toMatchObject({
      status: 'pending',
      findings: expect.arrayContaining([expect.objectContaining({ code: 'ownership_unproven' })]),
      certificate: { status: 'none' },
    });
    const roots = await world.rootCertificates(signpost.service.rootCertificate);
    await expect(visitDomain(login, roots)).rejects.toThrow();
    expect(await shownAt(proxy, login)).not.toContain('of B');
    expect((await visitDomain(world, roots)).body).toBe('of A');

    const txtOfB = `_signpost.login TXT "${valueIn(wanted)}"`;
    await world.publish([...wildcard, ...ofA, 'login A 104.16.1.1', txtOfB]);
    await until('B is live', async () => (await stranger.domain()).status === 'live');
    expect((await visitDomain(login, roots)).body).toBe('of B');
  }, 180_000);
});

async function keyOfNewAccount({ call }: Client) {
  const { body: account } = await call('POST', '/v1/accounts', { name: 'Another' });
  const { id: accountId } = account as { id: string };
  const json = {
    name: 'theirs',
    scopes: ['domains:read', 'domains:write', 'projects:write'],
    accountId,
  };
  const { body } = await call('POST', '/v1/keys', json);
  return { key: (body as { key: string }).key, accountId };
}

/** The finding with the requested record, once it exists. */
function heldIn(client: Client, wanted = 'held_elsewhere') {
  return until('the record to prove ownership', async () =>
    (await client.domain()).findings.find(({ code }) => code === wanted),
  );
}

async function claimsIn(client: Client): Promise<unknown[]> {
  const { body } = await client.call('GET', `${client.domainPath}/timeline`);
  const events = body as { type: string; data: unknown }[]; // the documented shape
  return events.filter(({ type }) => type === 'domain.claimed_elsewhere').map(({ data }) => data);
}
