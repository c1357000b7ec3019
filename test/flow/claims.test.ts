/** Two projects, one name: the DNS decides, the loser is notified, and the winner is served. */
import { describe, expect, it } from 'vitest';
import { type Client, createClient } from '../support/client.ts';
import { closeAfterEach } from '../support/closings.ts';
import { type RunningService, startService } from '../support/service.ts';
import { freshStorage } from '../support/storage.ts';
import { until, visitDomain } from '../support/world.ts';

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
    const { apex, one, other } = await startApex();
    await one.addDomain();
    await apex.publish([address]);
    await until('the first is live', async () => (await one.domain()).status === 'live');

    await other.addDomain();
    const proofOf = (client: Client, wanted = 'There is no TXT record') =>
      until('the requested record', async () => {
        const [finding] = (await client.domain()).findings;
        if (finding?.code !== 'held_elsewhere' || !finding.found.includes(wanted)) return null;
        expect(finding.actor).toBe('customer');
        return /signpost-domain-verification=[a-z2-7]{32}/.exec(finding.expected)?.[0];
      });
    const theirs = await proofOf(other);
    const txt = (...values: readonly string[]) => values.map((one) => `_signpost TXT "${one}"`);

    await apex.publish([address, ...txt('v=of somebody else')]);
    expect(await proofOf(other, 'v=of somebody else')).toBe(theirs);
    // Its record stays the same after a removal.
    await other.call('DELETE', other.domainPath);
    const again = await other.addAgain();
    expect(again.findings).toEqual([]);
    expect(await proofOf(other, 'v=of somebody else')).toBe(theirs);

    await apex.publish([address, ...txt(theirs)]);
    await until('the second is live', async () => (await other.domain()).status === 'live');
    const lost = await claimsIn(one);
    const evidence = { proof: 'txt', found: `_signpost.${apex.hostname}` };
    expect(lost).toEqual([evidence]);
    const ours = await proofOf(one, theirs);

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
    const value = /signpost-domain-verification=[a-z2-7]{32}/.exec(wanted.expected)?.[0];
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
    await apex.publish([address]);
    await heldIn(owner);
    await other.call('DELETE', other.domainPath);
    await until('the owner is live', async () => (await owner.domain()).status === 'live');
  }, 180_000);
});

describe('an apex whose account left, while its A record stays', () => {
  it('is not live for another account before the TXT record', async () => {
    const { apex, one: owner } = await startApex();
    await owner.addDomain();
    await apex.publish([address]);
    await until('the owner is live', async () => (await owner.domain()).status === 'live');
    await owner.call('DELETE', owner.domainPath);

    const stranger = createClient({ ...apex, apiKey: await keyOfNewAccount(owner) });
    await stranger.addDomain();
    await stranger.call('POST', `${stranger.domainPath}/verify`);
    const finding = await heldIn(stranger);
    expect(finding.summary).toContain('Another account used');
    expect(await stranger.story()).not.toContain('domain.verified');

    const value = /signpost-domain-verification=[a-z2-7]{32}/.exec(finding.expected)?.[0];
    await apex.publish([address, `_signpost TXT "${value}"`]);
    await until('it is live', async () => (await stranger.domain()).status === 'live');
  }, 180_000);
});

async function keyOfNewAccount({ call }: Client): Promise<string> {
  const { body: account } = await call('POST', '/v1/accounts', { name: 'Another' });
  const { id: accountId } = account as { id: string };
  const json = {
    name: 'theirs',
    scopes: ['domains:read', 'domains:write', 'projects:write'],
    accountId,
  };
  const { body } = await call('POST', '/v1/keys', json);
  return (body as { key: string }).key;
}

/** The finding with the requested record, once it exists. */
function heldIn(client: Client) {
  return until('the record to prove ownership', async () =>
    (await client.domain()).findings.find(({ code }) => code === 'held_elsewhere'),
  );
}

async function claimsIn(client: Client): Promise<unknown[]> {
  const { body } = await client.call('GET', `${client.domainPath}/timeline`);
  const events = body as { type: string; data: unknown }[]; // the documented shape
  return events.filter(({ type }) => type === 'domain.claimed_elsewhere').map(({ data }) => data);
}
