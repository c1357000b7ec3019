/** The customers' name server, in a process of its own; says its port and ends with its parent. */
import { startDnsServer } from '../../src/lab/dns-server.ts';
import { ZONE } from './settings.ts';

const server = await startDnsServer({ zones: { [ZONE]: [] } });
process.stdout.write(`${server.port}\n`);
process.on('disconnect', () => process.exit(0));
