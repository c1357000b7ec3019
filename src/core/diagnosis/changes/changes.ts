/** What a customer has to do at the DNS provider, record by record. */
import { actorOf } from '../findings.ts';
import { foreign, foreignName } from '../words.ts';
import { apexChanges } from './apex.ts';
import { caaChanges } from './caa.ts';
import { type DnsChange, isOpen, noted } from './change.ts';
import { apexNameAt } from './notes.ts';
import {
  type ChangePlace,
  type ChangesInput,
  changePlaceOf,
  findingOf,
  isCopied,
  isNotComing,
  wasRight,
} from './place.ts';
import { spread } from './spread.ts';
import { subdomainChanges } from './subdomain.ts';

/**
 * In the order in which they are made: deletions, the record, then the rest. `keep` alone
 * if nothing is left to do. Never empty, pure, never throws.
 */
export function changesFor(input: ChangesInput): readonly DnsChange[] {
  const place = changePlaceOf(input);
  const pointing = place.record.type === 'ALIAS' ? apexChanges(place) : subdomainChanges(place);
  const all = [
    ...pointing.map((change) => settled(change, place)),
    ...caaChanges(place).map((change) => settledCaa(change, place)),
    ...proofChanges(place),
    ...httpsChanges(place),
  ];
  if (all.some(isOpen)) return all;
  return all.map((change) => (change.verb === 'delete' ? change : kept(change)));
}

/** A record that was right stays right while no server answers. */
function settled(change: DnsChange, place: ChangePlace): DnsChange {
  const isAdded = change.verb === 'add' || change.verb === 'change';
  if (wasRight(place) && change.state === 'unknown' && isAdded) return kept(change);
  const { state } = change;
  if (state === 'spreading' && isNotComing(place)) return { ...change, state: 'to_do' };
  const isSomewhere = change.servers.some((server) => server.state === 'done');
  return state === 'to_do' && isSomewhere && isCopied(place)
    ? { ...change, state: 'spreading' }
    : change;
}

/** Several providers do not copy CAA records from each other. */
function settledCaa(change: DnsChange, place: ChangePlace): DnsChange {
  const block = findingOf(place, 'caa_blocks');
  const isCustomers = block !== undefined && actorOf(block) === 'customer';
  return change.state === 'spreading' && isCustomers ? { ...change, state: 'to_do' } : change;
}

function kept({ note: _, was: __, ...change }: DnsChange): DnsChange {
  return { ...change, verb: 'keep' };
}

/** Proves that a name which another project has, or had, belongs to this one. */
function proofChanges(place: ChangePlace): readonly DnsChange[] {
  const proof = findingOf(place, 'held_elsewhere')?.proof;
  if (proof === undefined) return [];
  const { record, seen, found } = proof;
  const about = { type: 'TXT', name: record.name, ttl: place.record.ttl, servers: [] } as const;
  const [prefix = ''] = record.value.split('=');
  const others = found.filter((value) => value.startsWith(prefix) && value !== record.value);
  return [
    ...(seen === 'both' ? others : []).map(
      (value): DnsChange => ({
        verb: 'delete',
        ...about,
        value: foreign(value),
        state: 'to_do',
        note: 'It belongs to the other project.',
      }),
    ),
    {
      verb: 'add',
      ...about,
      value: foreign(record.value),
      state: proofStates[seen],
      note: 'Another project has or had this name. This record proves that it is yours.',
    },
  ];
}

const proofStates = {
  proven: 'done',
  both: 'done',
  partial: 'spreading',
  missing: 'to_do',
  unknown: 'unknown',
} as const;

/** Browsers that read such a record can ignore the addresses. */
function httpsChanges(place: ChangePlace): readonly DnsChange[] {
  const found = findingOf(place, 'https_record_mismatch');
  if (found === undefined) return [];
  const { servers } = spread(place.servers, () => false);
  const https = place.observation?.nearby.https;
  return found.records.map((record) => ({
    verb: 'delete',
    type: 'HTTPS',
    name: place.record.type === 'ALIAS' ? apexNameAt(place) : place.record.name,
    value: foreignName(record.replace(/^HTTPS /, '')),
    ttl: https?.kind === 'records' ? https.ttlSeconds : place.record.ttl,
    state: 'to_do',
    servers: servers.map((one) => ({ ...one, shows: 'HTTPS' })),
    ...noted('If the provider creates it for its own proxy or CDN, turn that off for this name.'),
  }));
}
