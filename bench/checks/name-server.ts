/** A process with the customers' name servers and their resolver. Prints the ports, and ends with its parent. */
import { startDnsServer } from '../../src/lab/dns-server.ts';
import { QUIET_ZONES, quietZoneOf, ZONES, zoneOf } from './settings.ts';

const names = [
  ...Array.from({ length: ZONES }, (_, index) => zoneOf(index)),
  ...Array.from({ length: QUIET_ZONES }, (_, index) => quietZoneOf(index)),
];
const zones = names.map((name, index) => {
  const address = `127.0.1.${index + 1}`;
  return { name, address, lines: ['@ NS ns1', `ns1 A ${address}`] };
});
const resolver = await startDnsServer({
  zones: Object.fromEntries(zones.map(({ name, lines }) => [name, lines])),
});
const { port } = resolver;
await Promise.all(
  zones.map(({ name, address, lines }) =>
    startDnsServer({ zones: { [name]: lines }, address, port }),
  ),
);
process.stdout.write(`${port}\n`);
process.on('disconnect', () => process.exit(0));
