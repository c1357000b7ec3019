/** A domain's whole life on each storage and with each CA, up to a verified handshake. */
import { describe, expect, it } from 'vitest';
import { closeAfterEach } from '../support/closings.ts';
import { lacks } from '../support/programs.ts';
import { rowsOfRun } from '../support/run.ts';
import { type RunningService, startService } from '../support/service.ts';
import { freshStorage, type StorageName, storages } from '../support/storage.ts';
import { type CaKind, until, visitDomain } from '../support/world.ts';

const cas: readonly CaKind[] = ['local authority', 'Pebble'];
const codes = [
  'record_missing',
  'conflicting_a',
  'conflicting_aaaa',
  'cname_mismatch',
  'caa_blocks',
] as const;
const closings = closeAfterEach();

async function start(name: StorageName, ca: CaKind): Promise<RunningService> {
  const { storage, close } = await freshStorage(name);
  closings.push(close);
  const service = await startService({ storage, ca });
  closings.push(service.close);
  return service;
}

/** Publishes records and waits until exactly these findings are shown. */
async function publish({ world, client }: RunningService, records: string[], codes: string[]) {
  await world.publish(records);
  return until(`findings ${codes.join()}`, async () => {
    const domain = await client.domain();
    const shown = domain.findings.map(({ code }) => code);
    return domain.checks.attempts > 0 && shown.join() === codes.join() && domain;
  });
}

const withoutPebble = lacks('pebble', 'a domain’s life with certificates from Pebble');

const quickPairs: Readonly<Record<StorageName, CaKind>> = {
  embedded: 'Pebble',
  postgres: 'local authority',
  postgres_redis: 'Pebble',
};

for (const { name, available } of storages) {
  for (const ca of rowsOfRun(cas, (one) => one === quickPairs[name])) {
    describe.skipIf(!available || (ca === 'Pebble' && withoutPebble))(
      `on ${name} with ${ca}`,
      { timeout: 180_000 }, // seconds, except on a busy machine
      () => {
        it('a domain goes live after various mistakes of the customer', async () => {
          const running = await start(name, ca);
          const { world, client, signpost } = running;
          const { record, status, checks } = await client.addDomain();
          expect(status).toBe('pending');
          expect(record).toMatchObject({ type: 'CNAME', name: 'docs', ttl: 3600 });
          expect(checks.windowEndsAt).not.toBeNull();

          await publish(running, [], ['record_missing']);
          const old = await publish(running, ['docs A 192.0.2.7'], ['conflicting_a']);
          expect(old.findings[0]?.found).toContain('192.0.2.7');
          expect(old.findings[0]?.expected).toContain(record.value);
          await publish(running, ['docs AAAA 2001:db8::7'], ['conflicting_aaaa']);
          const both = ['docs A 192.0.2.7', 'docs AAAA 2001:db8::7'];
          await publish(running, both, ['conflicting_a', 'conflicting_aaaa']);
          const wrong = await publish(running, ['docs CNAME old.example.'], ['cname_mismatch']);
          expect(wrong.findings[0]?.found).toContain('old.example');
          const forbids = '@ CAA 0 issue "other-ca.example"';
          const caa = await publish(
            running,
            [`docs CNAME ${record.value}.`, forbids],
            ['caa_blocks'],
          );
          expect(caa.findings[0]?.action).toContain('letsencrypt.org');

          await world.publish([`docs CNAME ${record.value}.`]);
          const live = await until('live', async () => {
            const domain = await client.domain();
            return domain.status === 'live' && domain;
          });
          expect(live.findings).toEqual([]);
          expect(live.certificate).toMatchObject({ status: 'issued', problem: null });
          const story = await client.story();
          expect(story.filter((event) => !/^[+-]/.test(event))).toEqual([
            'domain.added',
            'domain.verified',
            'certificate.issued',
            'domain.live',
          ]);
          // Every finding appeared and was resolved. A check during a zone change may have seen
          // parts of both states, so counts are open.
          const seen = story.filter((event) => event.startsWith('+'));
          expect([...new Set(seen)]).toEqual(codes.map((code) => `+${code}`));
          for (const code of codes) {
            expect(story.lastIndexOf(`-${code}`)).toBeGreaterThan(story.lastIndexOf(`+${code}`));
          }

          const roots = await world.rootCertificates(signpost.service.rootCertificate);
          const answer = await visitDomain(world, roots);
          expect(answer).toMatchObject({ status: 200, body: 'Hello from the project’s deploy.\n' });

          expect((await client.call('DELETE', client.domainPath)).status).toBe(204);
          await expect(visitDomain(world, roots)).rejects.toThrow();
          expect((await client.call('GET', client.domainPath)).status).toBe(404);
          expect((await client.story()).at(-1)).toBe('domain.removed');
        });
      },
    );
  }
}
