/** API clients that write and read continuously; some customers have their records ready. */
import type { Endings } from '../endings.ts';
import type { Random } from '../random.ts';
import type { System } from '../system/system.ts';
import { sleep } from '../system/wait.ts';
import { customerZones } from '../system/zones.ts';
import type { Client } from './client.ts';
import type { Ledger } from './ledger.ts';

const PAUSE_MS = 150;
/** The API allows 100 an hour per project. */
const DOMAINS_A_PROJECT = 90;
/** Limit of added domains; the oldest are removed. */
const ATTACHED_MAX = 30;

type Customers = {
  readonly system: System;
  readonly client: Client;
  readonly ledger: Ledger;
  readonly random: Random;
  readonly webhookUrl: string;
};

export function startCustomers(given: Customers, endings: Endings): void {
  const { client, ledger, random, system, webhookUrl } = given;
  const own: string[] = [];
  let [stopped, number, project, added] = [false, 0, '', 0];

  async function openProject(): Promise<void> {
    if (project !== '' && added < DOMAINS_A_PROJECT) return;
    project = (await client.createProject(`customers-${number}`, webhookUrl)) ?? '';
    added = 0;
  }

  async function addDomain(): Promise<void> {
    number += 1;
    await openProject();
    if (project === '') return;
    const hostname = `added-${number}.${random.pick(customerZones)}`;
    added += 1;
    const target = await client.addDomain(project, hostname);
    if (target === null) return;
    own.push(hostname);
    if (random.next() < 0.5) await system.zones.point(hostname, target);
    if (own.length > ATTACHED_MAX) await removeDomain(own.shift() ?? '');
  }

  async function removeDomain(hostname: string): Promise<void> {
    await client.removeDomain(hostname);
    await system.zones.drop(hostname);
  }

  async function verify(): Promise<void> {
    const attached = [...ledger.domains.values()].filter((one) => one.state === 'attached');
    if (attached.length === 0) return;
    const { projectId, hostname } = random.pick(attached);
    await client.call('POST', `/v1/projects/${projectId}/domains/${hostname}/verify`);
  }

  async function readPet(): Promise<void> {
    const ids = [...ledger.pets.keys()];
    if (ids.length > 0) await client.call('GET', `/v1/pets/${random.pick(ids)}`);
  }

  async function actOnce(): Promise<void> {
    const drawn = random.next();
    if (drawn < 0.5) return client.createPet(`pet-${number++}`);
    if (drawn < 0.75) return readPet();
    if (drawn < 0.93) return verify();
    return addDomain();
  }

  const working = [1, 2].map(async () => {
    while (!stopped) {
      await actOnce();
      await sleep(PAUSE_MS);
    }
  });
  endings.push('the customers', () => {
    stopped = true;
    return Promise.all(working);
  });
}
