/** The window that ends, and the 30 minutes without a certificate. */
import { describe, expect, it } from 'vitest';
import type { Client } from '../support/client.ts';
import { closeAfterEach } from '../support/closings.ts';
import { forward } from '../support/forward.ts';
import { lacks } from '../support/programs.ts';
import { freePort } from '../support/servers.ts';
import { type RunningService, startService } from '../support/service.ts';
import { freshStorage } from '../support/storage.ts';
import { until, type WorldOptions } from '../support/world.ts';

const closings = closeAfterEach();

type Env = Readonly<Record<string, string>>;

async function start(
  env: Env,
  options: Pick<WorldOptions, 'ca' | 'challengePort'> = { ca: 'local authority' },
): Promise<RunningService> {
  const { storage, close } = await freshStorage();
  closings.push(close);
  const service = await startService({ storage, env, ...options });
  closings.push(service.close);
  return service;
}

const statusOf = (client: Client, status: string) =>
  until(status, async () => {
    const domain = await client.domain();
    return domain.status === status && domain;
  });

describe('the window', () => {
  it('fails a domain whose record never appeared, and verify starts another with the same record', async () => {
    const { world, client, signpost } = await start({});
    const { bringNow, database, config } = signpost.service;
    const { record } = await client.addDomain();
    await until('a check', async () => (await client.domain()).findings.length > 0);
    const pendingSince = new Date(Date.now() - config.verifyWindowMs);
    await database.prisma.domain.updateMany({ data: { pendingSince } });
    const { id: domainId, epoch } = await database.prisma.domain.findFirstOrThrow();
    await bringNow('check-dns', { domainId, epoch });
    const failed = await statusOf(client, 'failed');
    expect(failed.findings.map(({ code }) => code)).toEqual(['record_missing']);
    expect(failed.checks).toMatchObject({ nextCheckAt: expect.any(String), windowEndsAt: null });
    expect(await client.story()).toEqual(['domain.added', '+record_missing', 'domain.failed']);

    const again = await client.call('POST', `${client.domainPath}/verify`);
    expect(again).toMatchObject({ status: 202, body: { status: 'pending', record } });
    await world.publish([`docs CNAME ${record.value}.`]);
    await statusOf(client, 'live');
    expect((await client.story()).slice(3)).toEqual([
      'domain.reverify_requested',
      '-record_missing',
      'domain.verified',
      'certificate.issued',
      'domain.live',
    ]);
  }, 240_000);
});

describe.skipIf(lacks('pebble', 'an escalation that a certificate ends'))('an escalation', () => {
  it('is opened once when no certificate comes, and closed when the domain continues', async () => {
    // No server listens where the CA looks for the challenge.
    const challengePort = await freePort();
    const { world, client, signpost } = await start(
      // The probe would block the order.
      { EDGE_PROBE: 'false' },
      { ca: 'Pebble', challengePort },
    );
    const { record } = await client.addDomain();
    await world.publish([`docs CNAME ${record.value}.`]);
    await until('the refusal', async () => (await client.domain()).certificate.problem !== null);
    // As half an hour later.
    const { bringNow, database } = signpost.service;
    const { id: domainId, epoch } = await database.prisma.domain.findFirstOrThrow();
    await bringNow('escalate-certificate', { domainId, epoch });
    const waiting = await until('escalation', async () => {
      const domain = await client.domain();
      return domain.escalation !== null && domain.certificate.problem !== null && domain;
    });
    expect(waiting).toMatchObject({
      status: 'verified',
      escalation: { cause: 'challenge_unreachable', nextAction: expect.stringMatching(/\.$/) },
      certificate: { problem: { type: 'connection' } },
    });

    closings.push(await forward(challengePort, world.edgeHttpPort));
    expect((await client.call('POST', `${client.domainPath}/verify`)).status).toBe(202);
    expect(await statusOf(client, 'live')).toMatchObject({ escalation: null });
    const story = await client.story();
    expect(story.filter((event) => event.startsWith('escalation.'))).toEqual([
      'escalation.opened',
      'escalation.closed',
    ]);
    expect(story.slice(-4)).toEqual([
      'domain.reverify_requested',
      'certificate.issued',
      'domain.live',
      'escalation.closed',
    ]);
  }, 240_000);
});
