/**
 * The customers' name servers and the resolver that knows them, in a process of its own; says the port of all, and ends with
 * its parent. DNS_MS: how many ms each answer takes, as from servers that are so far away.
 */
import { startDnsServer } from '../../src/lab/dns-server.ts';
import { numberFrom } from '../support/figures.ts';
import { ZONES, zoneOf } from './settings.ts';

const zones = Array.from({ length: ZONES }, (_, index) => {
  const address = `127.0.1.${index + 1}`;
  return { name: zoneOf(index), address, lines: ['@ NS ns1', `ns1 A ${address}`] };
});
const resolver = await startDnsServer({
  zones: Object.fromEntries(zones.map(({ name, lines }) => [name, lines])),
});
const { port } = resolver;
const servers = await Promise.all(
  zones.map(({ name, address, lines }) =>
    startDnsServer({ zones: { [name]: lines }, address, port }),
  ),
);
const ms = numberFrom('DNS_MS', 0);
if (ms > 0) for (const one of [resolver, ...servers]) one.fail('.', '*', { kind: 'delay', ms });
process.stdout.write(`${port}\n`);
process.on('disconnect', () => process.exit(0));
