/** The customers' name server and the only resolver, in a process of its own; says its port, adds records as it is told, and ends with its parent. */
import { startDnsServer } from '../../src/lab/dns-server.ts';
import { PLATFORM, SITES, ZONE } from './zone.ts';

const dns = await startDnsServer({
  zones: {
    [ZONE]: [],
    [PLATFORM]: ['* A 127.0.0.1'],
    [SITES]: [`* CNAME x.${PLATFORM}.`],
  },
});
process.stdout.write(`${dns.port}\n`);
process.on('message', (line) => {
  dns.edit(ZONE, { add: [String(line)] });
  process.send?.(line); // it is answered from now on
});
process.on('disconnect', () => process.exit(0));
