/** Node's resolver (c-ares). */
import { Resolver } from 'node:dns/promises';
import { setting } from '../support/processes.ts';
import { measure } from './settings.ts';

const resolver = new Resolver();
resolver.setServers([`127.0.0.1:${setting('DNS_PORT')}`]);

const rates = await measure(async (name) => {
  const addresses = await resolver.resolve4(name);
  if (addresses.length !== 1) throw new Error(name);
});
process.stdout.write(`${JSON.stringify(rates)}\n`);
