/**
 * A CA announces a mass revocation by a window in the past (RFC 9773, 4.2): certificates are
 * renewed while the old ones are served. Pebble 2.4 has no renewal information, so a front adds it.
 */

import { connect } from 'node:tls';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { certificateIdOf } from '../../src/certificates/acme/resources.ts';
import { loadConfig } from '../../src/config/config.ts';
import { DAY } from '../../src/core/time.ts';
import { startSignpost } from '../../src/start.ts';
import {
  type AcmeFront,
  type FrontRequest,
  type Said,
  startAcmeFront,
} from '../support/acme-front.ts';
import { createClient } from '../support/client.ts';
import { closeAfterEach } from '../support/closings.ts';
import { lacks } from '../support/programs.ts';
import { freshStorage } from '../support/storage.ts';
import { startWorld, until, type World } from '../support/world.ts';

const explanationURL = 'https://ca.test/incident';
const closings = closeAfterEach();

/** A whole service with a Pebble behind a front as its CA. */
async function startService() {
  const { storage, close } = await freshStorage();
  closings.push(close);
  const world = await startWorld({ storage, ca: 'Pebble' });
  closings.push(world.close);
  const { ACME_DIRECTORY_URL: directoryUrl = '', ACME_CA_FILE: caFile = '' } = world.env;
  const front = await startAcmeFront({ directoryUrl, caFile });
  closings.push(front.close);
  const before = { ACME_DIRECTORY_URL: front.directoryUrl, ACME_CA_FILE: front.caFile };
  const result = loadConfig({ ...world.env, ...before });
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  const signpost = await startSignpost(result.config, pino({ level: 'silent' }));
  closings.push(() => signpost.close(10_000));
  const client = createClient(world);
  const { prisma } = signpost.service.database;
  return {
    world,
    front,
    client,
    prisma,
    /** As if Retry-After had passed, which is a minute at least. */
    askNow: () =>
      prisma.domain.updateMany({
        where: { hostname: world.hostname },
        data: { renewalInfoAt: new Date() },
      }),
  };
}

/** The renewal information for every certificate, and an action before a request is forwarded. */
function offer(
  front: AcmeFront,
  window: readonly [Date, Date],
  passing: (request: FrontRequest) => Promise<void> = async () => undefined,
): void {
  const [start, end] = window;
  const said: Said = {
    status: 200,
    headers: { 'content-type': 'application/json', 'retry-after': '3600' },
    body: JSON.stringify({ suggestedWindow: { start, end }, explanationURL }),
  };
  front.meddle({
    async before(request) {
      await passing(request);
      return request.step === 'renewalInfo' ? said : undefined;
    },
    after: ({ step }, reply) => {
      if (step !== 'directory') return undefined;
      const renewalInfo = `${front.base}/renewal-info`;
      return { ...reply, body: JSON.stringify({ ...JSON.parse(reply.body), renewalInfo }) };
    },
  });
}

const inDays = (days: number) => new Date(Date.now() + days * DAY);

function shown({ edgeHttpsPort: port, hostname }: World): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { port, host: '127.0.0.1', servername: hostname, rejectUnauthorized: false };
    const socket = connect(options, () => {
      resolve(socket.getPeerX509Certificate()?.toString() ?? '');
      socket.destroy();
    });
    socket.once('error', reject);
  });
}

describe.skipIf(lacks('pebble', 'renewals requested by the CA'))(
  'A CA with renewal information',
  { timeout: 180_000 },
  () => {
    it('has its certificates renewed at once when it moves the window into the past', async () => {
      const { world, front, client, prisma, askNow } = await startService();
      const usual = [inDays(50), inDays(52)] as const;
      offer(front, usual);
      const { record } = await client.addDomain();
      await world.publish([`docs CNAME ${record.value}.`]);
      await until('live', async () => (await client.domain()).status === 'live');
      const first = await shown(world);
      expect(front.requests.map(({ step }) => step)).not.toContain('renewalInfo');

      const askedAt = Date.now();
      await askNow();
      const { renewal } = await until('the window', async () => {
        const { certificate } = await client.domain();
        const plannedAt = Date.parse(certificate.renewal?.plannedAt ?? '');
        return plannedAt < Number(usual[1]) && certificate;
      });
      const [from, to] = usual.map((time) => time.toISOString());
      expect(renewal).toMatchObject({
        window: { start: from, end: to },
        explanationUrl: explanationURL,
      });
      expect(Date.parse(renewal?.plannedAt ?? '')).toBeGreaterThanOrEqual(Number(usual[0]));
      const { renewalInfoAt } = await prisma.domain.findFirstOrThrow({
        where: { hostname: world.hostname },
      });
      expect(Number(renewalInfoAt)).toBeGreaterThan(askedAt + 3_500_000);
      expect(front.placed()).toHaveLength(1);

      let servedMeanwhile: string | null = null;
      offer(front, [inDays(-2), inDays(-1)], async ({ step }) => {
        if (step === 'finalize') servedMeanwhile = await shown(world);
      });
      await askNow();
      await until('the next certificate', async () => (await shown(world)) !== first);
      expect(servedMeanwhile).toBe(first);
      expect((await client.story()).filter((type) => type.startsWith('certificate.'))).toEqual([
        'certificate.issued',
        'certificate.renewed',
      ]);
      expect((await client.domain()).status).toBe('live');
      const [firstOrder, secondOrder, ...others] = front.placed().map(({ payload }) => payload);
      expect(firstOrder).not.toHaveProperty('replaces');
      expect(secondOrder).toHaveProperty('replaces', await certificateIdOf(first));
      expect(others).toEqual([]);
    });
  },
);
