/** Signpost's own DNS messages: EDNS, random case, IDs and ports; decodes every answer. */
import { createWire } from '../../src/dns/wire/wire.ts';
import { setting } from '../support/processes.ts';
import { measure } from './settings.ts';

const server = { address: '127.0.0.1', port: Number(setting('DNS_PORT')) };
const wire = createWire();

const rates = await measure(async (name) => {
  const answer = await wire.ask({ name, type: 'A', recursionDesired: true }, server);
  if (answer.kind !== 'response' || answer.message.answers.length !== 1) throw new Error(name);
});
wire.close();
process.stdout.write(`${JSON.stringify(rates)}\n`);
