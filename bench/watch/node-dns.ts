/** Node's own resolver (c-ares), asked for the same names, 200 at a time; says its answers a CPU second. */
import { Resolver } from 'node:dns/promises';
import { setting, sleep } from '../support/processes.ts';
import { hostnameOf } from './settings.ts';

const resolver = new Resolver();
resolver.setServers([`${setting('DNS_ADDRESS')}:${setting('DNS_PORT')}`]);
let [answers, running] = [0, true];
const lanes = Promise.all(
  Array.from({ length: 200 }, async () => {
    while (running) {
      const [address] = await resolver.resolve4(hostnameOf(answers));
      if (address === undefined) throw new Error('no answer');
      answers += 1;
    }
  }),
);
await Promise.race([sleep(1_000), lanes]);
const [from, cpu] = [answers, process.cpuUsage()];
await Promise.race([sleep(5_000), lanes]);
const { user, system } = process.cpuUsage(cpu);
process.stdout.write(`${Math.round(((answers - from) * 1e6) / (user + system))}\n`);
running = false;
await lanes;
