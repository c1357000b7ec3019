/** A worker whose own resolvers do not answer. */
import { describe, expect, it } from 'vitest';
import { createClient } from '../support/client.ts';
import { closeAfterEach } from '../support/closings.ts';
import { startProcess } from '../support/process.ts';
import { lacks } from '../support/programs.ts';
import { freePort } from '../support/servers.ts';
import { freshStorage } from '../support/storage.ts';
import { startWorld, until } from '../support/world.ts';
import { readyLine } from './support.ts';

const closings = closeAfterEach();

type Overview = {
  readonly attention: readonly { readonly code: string; readonly summary: string }[];
  readonly dnsOperators: readonly { readonly operator: string }[];
};

describe.skipIf(lacks('postgres', 'failing resolvers'))('A worker without a resolver', () => {
  it('is named by /ops, no DNS provider is, and its domains go on after the repair', async () => {
    const { storage, close } = await freshStorage('postgres');
    closings.push(close);
    const world = await startWorld({ storage, ca: 'local authority' });
    closings.push(world.close);
    const start = async (role: string, env: Readonly<Record<string, string>> = {}) => {
      const started = await startProcess({ ...world.env, METRICS_PORT: '0', ROLE: role, ...env });
      closings.push(started.kill);
      return started;
    };
    await start('api');
    await start('edge');
    const client = createClient(world);
    const { record } = await client.addDomain();
    await world.publish([`docs CNAME ${record.value}.`]);

    const broken = await start('worker', { DNS_SERVERS: `127.0.0.1:${await freePort()}` });
    const overview = async () =>
      (await client.call('GET', '/v1/operations/overview')).body as Overview;
    const task = await until('a task that names the worker', async () =>
      (await overview()).attention.find(({ summary }) => summary.includes('at worker on ')),
    );
    expect(task).toMatchObject({ code: 'resolvers_silent' });
    const { attention, dnsOperators } = await overview();
    expect(attention.map(({ code }) => code)).toEqual(['resolvers_silent']);
    expect(dnsOperators.map(({ operator }) => operator)).toEqual(['our resolvers']);
    const [finding] = (await client.domain()).findings;
    expect(finding).toMatchObject({ code: 'dns_unknown', actor: 'platform' });
    expect(JSON.stringify(finding)).not.toContain('DNS provider');
    const { metricsPort } = readyLine(broken);
    const metrics = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
    expect(metrics).toContain('signpost_resolvers_failing 1');
    expect(await broken.stop()).toBe(0);

    const good = await start('worker');
    await until('it is live', async () => (await client.domain()).status === 'live');
    await until('nothing is left to do', async () => (await overview()).attention.length === 0);

    expect(await good.stop()).toBe(0);
    const again = await start('worker', { DNS_SERVERS: `127.0.0.1:${await freePort()}` });
    const isUnknown = async () =>
      (await client.domain()).findings.some(({ code }) => code === 'dns_unknown');
    await until('the recheck of the live domain fails', isUnknown);
    expect(await again.stop()).toBe(0);
    await start('worker');
    await until('it is checked again', async () => !(await isUnknown()));
    expect((await client.domain()).status).toBe('live');
  }, 300_000);
});
