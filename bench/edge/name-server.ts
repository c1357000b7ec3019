/** A process with the customers' name server, the only resolver. Prints its port, adds records on request, and ends with its parent. */
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
  process.send?.(line); // it is served from now on
});
process.on('disconnect', () => process.exit(0));
