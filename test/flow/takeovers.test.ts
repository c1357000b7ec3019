/** Strangers who want a name that is not theirs, each refused, and the way of its owner: over DNS, HTTP and TLS. */
import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { type Client, createClient, type Shown } from '../support/client.ts';
import { closeAfterEach } from '../support/closings.ts';
import { startService } from '../support/service.ts';
import { freshStorage } from '../support/storage.ts';
import { until, visitDomain } from '../support/world.ts';

const closings = closeAfterEach();
const address = '@ A 127.0.0.1';
const VALUE = /signpost-domain-verification=[a-z2-7]{32}/;

/** An apex that no record leads here yet, and who may add it. */
async function startApex() {
  const { storage, close } = await freshStorage();
  closings.push(close);
  const env = { PLATFORM_ADDRESSES: '127.0.0.1' };
  const { world, signpost, ...service } = await startService({
    storage,
    ca: 'local authority',
    env,
  });
  closings.push(service.close);
  const apex = { ...world, hostname: world.zone };
  const { database, rootCertificate } = signpost.parts;
  return {
    publish: (...txts: readonly string[]) =>
      apex.publish([address, ...txts.map((value) => `_signpost TXT "${value}"`)]),
    takeAway: () => apex.publish([]),
    client: () => createClient(apex),
    /** Its project is another customer's from now on. */
    async moveToAnotherAccount({ domainPath }: Client) {
      const [, , , id = ''] = domainPath.split('/');
      const account = { id: randomUUID(), name: 'Another' };
      await database.prisma.account.create({ data: account });
      await database.prisma.project.update({ where: { id }, data: { accountId: account.id } });
    },
    visit: async () => visitDomain(apex, await apex.rootCertificates(rootCertificate)),
  };
}
type Apex = Awaited<ReturnType<typeof startApex>>;

const remove = (client: Client) => client.call('DELETE', client.domainPath);
const verify = (client: Client) => client.call('POST', `${client.domainPath}/verify`);
const live = (client: Client) =>
  until('it is live', async () => (await client.domain()).status === 'live');

/** Adds the apex, and waits until its first check has seen that it leads elsewhere. */
async function addFirst(client: Client): Promise<void> {
  await client.addDomain();
  await until('the first check', async () =>
    (await client.domain()).findings.some(({ code }) => code === 'record_missing'),
  );
}

/** Live by its addresses alone: they came after it was added. */
async function goLive({ publish }: Apex, client: Client): Promise<void> {
  await addFirst(client);
  await publish();
  await live(client);
}

/** The finding that asks for the TXT record, of a claim that stays where it is through another verify. */
async function refused(client: Client, code = 'proof_required') {
  const asked = ({ findings, checks }: Shown) =>
    checks.attempts > 0 ? findings.find((one) => one.code === code) : undefined;
  await until(`${code} is shown`, async () => asked(await client.domain()));
  await verify(client);
  const finding = await until(`${code} is shown again`, async () => asked(await client.domain()));
  expect((await client.domain()).status).toBe('pending');
  const story = await client.story();
  const ofClaim = story.slice(story.lastIndexOf('domain.added'));
  expect(ofClaim).not.toContain('domain.verified');
  const value = VALUE.exec(finding.expected)?.[0] ?? '';
  expect(value).not.toBe('');
  return { ...finding, value };
}

describe('an apex whose A record was left behind', () => {
  it('is not another project’s that adds it, nor served, until its TXT record is there', async () => {
    const apex = await startApex();
    const [owner, stranger] = [apex.client(), apex.client()];
    await goLive(apex, owner);
    expect((await apex.visit()).status).toBe(200);
    const { body } = await owner.call('GET', `/v1/diagnosis/${(await owner.domain()).hostname}`);
    expect(body).toMatchObject({ verdict: 'right', findings: [{ code: 'proof_on_adding' }] });
    expect((await owner.domain()).findings).toEqual([]);
    await remove(owner);

    await stranger.addDomain();
    const { summary, value } = await refused(stranger);
    expect(summary).toContain('led here already when it was added');
    const proofRecord = { type: 'TXT', name: '_signpost', value, reason: 'already_here' };
    expect(await stranger.domain()).toMatchObject({ record: { type: 'ALIAS' }, proofRecord });
    await expect(apex.visit()).rejects.toThrow();

    // Its owner, who adds it again, proves it; the stranger's claim is in nobody's way for good.
    await owner.addAgain();
    const own = await refused(owner, 'held_elsewhere');
    expect(own.value).not.toBe(value);
    await apex.publish(own.value);
    await live(owner);
    expect((await apex.visit()).status).toBe(200);
    expect((await stranger.domain()).status).toBe('pending');
  }, 180_000);

  it('needs the TXT record of its own project, too, and another one every time', async () => {
    const apex = await startApex();
    const owner = apex.client();
    await goLive(apex, owner);
    await remove(owner);
    await owner.addAgain();
    const first = await refused(owner);
    await apex.publish(first.value);
    await live(owner);

    // What proves a claim that has ended proves nothing.
    await remove(owner);
    await owner.addAgain();
    const second = await refused(owner);
    expect(second.value).not.toBe(first.value);
    expect(second.found).toContain(first.value);
    await apex.publish(first.value, second.value);
    await live(owner);
  }, 180_000);
});

describe('an apex that another account had', () => {
  it('needs the TXT record even where its addresses came after the claim', async () => {
    const apex = await startApex();
    const [before, after] = [apex.client(), apex.client()];
    await goLive(apex, before);
    await apex.moveToAnotherAccount(before);
    await remove(before);
    await apex.takeAway();

    await addFirst(after);
    await apex.publish();
    const { summary, value } = await refused(after);
    expect(summary).toContain('has led here for another project');
    await apex.publish(value);
    await live(after);
  }, 180_000);

  it('is not had by a claim that waited while it was served, once it is left', async () => {
    const apex = await startApex();
    const [owner, stranger] = [apex.client(), apex.client()];
    await addFirst(stranger);
    await owner.addDomain();
    await apex.publish();
    const { value } = await refused(owner, 'held_elsewhere');
    await apex.publish(value);
    await live(owner);
    // Of the same account, so that only what the claim has seen speaks against it.
    await until('the stranger’s check sees the address', async () =>
      (await stranger.domain()).findings.some(({ code }) => code === 'held_elsewhere'),
    );
    await remove(owner);
    await refused(stranger);
    await expect(apex.visit()).rejects.toThrow();
  }, 180_000);
});

describe('a stranger’s claim beside the holder', () => {
  it('costs the holder nothing, who reads of it without a name', async () => {
    const apex = await startApex();
    const [holder, stranger] = [apex.client(), apex.client()];
    await goLive(apex, holder);
    const before = await holder.story();
    await stranger.addDomain();
    await apex.moveToAnotherAccount(stranger);
    await refused(stranger, 'held_elsewhere');

    await verify(holder);
    const shown = await until('the holder is warned', async () => {
      const domain = await holder.domain();
      return domain.findings.some(({ code }) => code === 'claim_by_another') && domain;
    });
    expect(shown.status).toBe('live');
    expect(JSON.stringify(shown)).not.toContain(stranger.domainPath.split('/')[3]);
    expect((await holder.story()).slice(before.length)).toEqual(['+claim_by_another']);
    expect((await apex.visit()).status).toBe(200);

    await remove(stranger);
    await verify(holder);
    await until('the warning is gone', async () => (await holder.domain()).findings.length === 0);
  }, 180_000);

  it('that left its proof in the zone is a warning for the next holder', async () => {
    const apex = await startApex();
    const [before, after] = [apex.client(), apex.client()];
    await goLive(apex, before);
    await remove(before);
    await before.addAgain();
    const left = await refused(before);
    await apex.publish(left.value);
    await live(before);
    await remove(before);

    await after.addDomain();
    const own = await refused(after);
    await apex.publish(left.value, own.value);
    await live(after);
    await verify(after);
    const warning = await until('the holder is warned', async () =>
      (await after.domain()).findings.find(({ code }) => code === 'proof_left_over'),
    );
    expect(warning.found).toContain(left.value);
    expect(warning.found).not.toContain(own.value);
    await apex.publish(own.value);
    await verify(after);
    await until('the warning is gone', async () => (await after.domain()).findings.length === 0);
    expect((await after.domain()).status).toBe('live');
  }, 180_000);
});

describe('two projects that verify an apex at once', () => {
  it('have it neither by its address, nor while both their records are there', async () => {
    const apex = await startApex();
    const both = [apex.client(), apex.client()] as const;
    for (const one of both) await addFirst(one);
    await apex.publish();
    await Promise.all(both.map(verify));
    const asked = await Promise.all(both.map((one) => refused(one, 'held_elsewhere')));
    const [first, second] = asked.map(({ value }) => value) as [string, string];

    await apex.publish(first, second);
    await Promise.all(both.map(verify));
    for (const one of both) {
      await until('both records are seen', async () =>
        (await one.domain()).findings.some(({ action }) => action.includes('Delete the other TXT')),
      );
    }
    expect(await Promise.all(both.map(async (one) => (await one.domain()).status))).toEqual([
      'pending',
      'pending',
    ]);

    await apex.publish(second);
    await live(both[1]);
    expect((await both[0].domain()).status).toBe('pending');
  }, 180_000);
});
