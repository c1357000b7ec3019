/** What a customer has to do at the DNS provider, record by record. */

import { PROOF_PREFIX } from '../../names/proof.ts';
import { isSplit } from '../caa/caa-differ.ts';
import { withoutParameters } from '../caa/caa-value.ts';
import { actorOf, explain, type FindingOf } from '../findings.ts';
import { unique } from '../input.ts';
import { isConclusive, recordsOf, type ServerView } from '../observation.ts';
import { formOf } from '../provider-forms.ts';
import { ownAddresses, pointingOf, speaksForZone } from '../server-pointing.ts';
import { foreign, foreignName, lines, listed } from '../words.ts';
import { type DnsChange, isOpen, nameIn, noted, type ServerChange } from './change.ts';
import { apexNameAt, DNS_ONLY, valueAt } from './notes.ts';
import {
  answersOf,
  type ChangePlace,
  type ChangesInput,
  changePlaceOf,
  findingOf,
  type HasChange,
  hintsAbout,
  isCopied,
  isNotComing,
  isProxied,
  spread,
  stateOf,
  wasRight,
} from './place.ts';
import { notChecked, proxiedRecord, subdomainChanges, ttlOf } from './subdomain.ts';

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

/** The TXT record that proves ownership, with the reason why it is needed. */
function proofChanges(place: ChangePlace): readonly DnsChange[] {
  const finding = findingOf(place, 'held_elsewhere') ?? findingOf(place, 'ownership_unproven');
  if (finding === undefined) return [];
  const { record, seen, found } = finding.proof;
  const about = { type: 'TXT', name: record.name, ttl: place.record.ttl, servers: [] } as const;
  const others = found.filter((value) => value.startsWith(PROOF_PREFIX) && value !== record.value);
  return [
    ...(seen === 'both' ? others : []).map(
      (value): DnsChange => ({
        verb: 'delete',
        ...about,
        value: foreign(value),
        state: 'to_do',
        note: 'It belongs to another claim on this name.',
      }),
    ),
    {
      verb: 'add',
      ...about,
      value: foreign(record.value),
      state: proofStates[seen],
      note: `${reasonsForProof[finding.code === 'held_elsewhere' ? 'held' : finding.route]} This record proves that it is yours.`,
    },
  ];
}

const reasonsForProof = {
  held: 'Another project has or had this name.',
  wildcard: 'A wildcard record leads this name here.',
  proxy: 'A proxy hides the record, as in every check since you added the name.',
  addresses: 'The name had our addresses in every check since you added it.',
} as const;

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

// The records of an apex, which has no CNAME on the wire: what exists depends on the provider.

function apexChanges(place: ChangePlace): readonly DnsChange[] {
  const type = typeAt(place);
  const { ttl } = place.record;
  const base = { type, name: apexNameAt(place), value: valueAt(place), ttl } as const;
  if (isProxied(place)) return [proxiedRecord(place, base)];
  if (isAddressForm(place)) return [...removals(place), ...addressChanges(place)];
  const { servers } = place;
  const progress = servers.length === 0 ? notChecked : spread(servers, leadsHere(place));
  const isMade = progress.state === 'done' || progress.state === 'spreading';
  const change: DnsChange = {
    verb: 'add',
    ...base,
    ...progress,
    ...(isMade ? {} : noted(...hintsAbout(place).values(), typeNote(place))),
  };
  return [...removals(place), change];
}

/** The provider's own name for it. Where it is unknown, the most common one. */
function typeAt({ provider }: ChangePlace): 'ALIAS' | 'ANAME' | 'CNAME' {
  if (provider?.apex === 'CNAME flattening') return 'CNAME';
  return formOf(provider).apexType ?? provider?.apex ?? 'ALIAS';
}

/** Only with addresses to give. */
function instead(condition: string, addresses: readonly string[]): string {
  if (addresses.length === 0) return '';
  return ` If ${condition}, add A and AAAA records instead: ${sorted(addresses).join(', ')}.`;
}

function typeNote({ provider, record, ourAddresses }: ChangePlace): string | undefined {
  const { sharedWith } = formOf(provider);
  if (provider === null) {
    return `Some providers call it ANAME or CNAME flattening.${instead('yours has none of these', ourAddresses)}`;
  }
  if (sharedWith !== undefined) {
    return `These name servers are those of ${provider.name} or ${sharedWith}.${instead('yours has no such type', ourAddresses)}`;
  }
  if (provider.apex === 'CNAME flattening') {
    const flat = `${provider.name} resolves a CNAME named “@” automatically.`;
    return provider.name === 'Cloudflare' ? `${DNS_ONLY} ${flat}` : flat;
  }
  if (formOf(provider).apexType === 'CNAME') {
    return `${provider.name} saves a CNAME named “@” as ${provider.apex}.`;
  }
  return provider.apex === null
    ? `${provider.name} has no known record type for this. Use A and AAAA records with the addresses of ${record.value}.`
    : undefined;
}

/** Without an ALIAS, the addresses themselves are the only way. */
function isAddressForm({ provider, ourAddresses }: ChangePlace): boolean {
  return provider !== null && provider.apex === null && ourAddresses.length > 0;
}

/** One of our addresses is enough: other addresses have their own rows. */
function leadsHere({ isOwn, ourAddresses }: ChangePlace): HasChange {
  return ({ a, aaaa }) => {
    const found = [...recordsOf(a), ...recordsOf(aaaa)];
    if (ourAddresses.length === 0 && found.length > 0) return null;
    if (found.some(isOwn)) return true;
    return isConclusive(a) && isConclusive(aaaa) ? false : null;
  };
}

/** Once every server points here, missing addresses cost redundancy only. */
function addressChanges(place: ChangePlace): readonly DnsChange[] {
  const { servers, ourAddresses, record } = place;
  const isRight = (view: ServerView) => pointingOf(view, record, ourAddresses).kind === 'right';
  const allRight =
    servers.length > 0 && servers.every(({ views }) => views.every((view) => isRight(view)));
  const hints = noted(...hintsAbout(place).values());
  const changes = sorted(ourAddresses).map((address, index) => ({
    ...addressChange(place, address),
    ...(index === 0 ? hints : {}),
  }));
  return allRight ? changes.filter(({ state }) => state === 'done') : changes;
}

function addressChange(place: ChangePlace, address: string): DnsChange {
  const family = address.includes(':') ? 'aaaa' : 'a';
  const { servers, record } = place;
  const has: HasChange = (view) => {
    const answer = view[family];
    if (!isConclusive(answer)) return null;
    return ownAddresses(recordsOf(answer))(address);
  };
  return {
    verb: 'add',
    type: family === 'a' ? 'A' : 'AAAA',
    name: apexNameAt(place),
    value: address,
    ttl: record.ttl,
    ...(servers.length === 0 ? notChecked : spread(servers, has)),
  };
}

/** IPv4 first, as most people read them. */
function sorted(addresses: readonly string[]): readonly string[] {
  const all = unique(addresses);
  return [...all.filter((one) => !one.includes(':')), ...all.filter((one) => one.includes(':'))];
}

function removals(place: ChangePlace): readonly DnsChange[] {
  return [
    ...aliases(place),
    // Without our own addresses there is nothing to compare with.
    ...(place.ourAddresses.length === 0
      ? []
      : [...foreignAddresses(place, 'a'), ...foreignAddresses(place, 'aaaa')]),
  ];
}

const REMOVALS_MAX = 12;

/** A CNAME beside SOA and NS records hides the whole domain (RFC 1034, section 3.6.2). */
function aliases(place: ChangePlace): readonly DnsChange[] {
  const { servers } = place;
  const answers = answersOf(servers, ({ cname }) => cname);
  const found = unique(answers.flatMap((answer) => recordsOf(answer)));
  return found.map((value) => ({
    verb: 'delete',
    type: 'CNAME',
    name: apexNameAt(place),
    value: foreignName(value),
    ttl: ttlOf(answers, value),
    ...spread(servers, ({ cname }) =>
      isConclusive(cname) ? !recordsOf(cname).includes(value) : null,
    ),
    note: 'It hides the mail and name server records of the whole domain.',
  }));
}

function foreignAddresses(place: ChangePlace, family: 'a' | 'aaaa'): readonly DnsChange[] {
  const { servers, isOwn } = place;
  const answers = answersOf(servers, (view) => view[family]);
  const found = unique(answers.flatMap((answer) => recordsOf(answer))).filter((one) => !isOwn(one));
  return found.slice(0, REMOVALS_MAX).map((value, index) => ({
    verb: 'delete',
    type: family === 'a' ? 'A' : 'AAAA',
    name: apexNameAt(place),
    value,
    ttl: ttlOf(answers, value),
    ...spread(servers, (view) =>
      isConclusive(view[family]) ? !recordsOf(view[family]).includes(value) : null,
    ),
    ...(index === 0 ? noted(madeByAlias(place)) : {}),
  }));
}

/** An ALIAS shows only the addresses of its target. */
function madeByAlias(place: ChangePlace): string | undefined {
  if (isAddressForm(place)) return undefined;
  const type = typeAt(place);
  return `If the list at your provider has no such record, ${type === 'CNAME' ? 'a CNAME' : `an ${type}`} record makes this address: change its value instead.`;
}

// The CAA records that let our certificate authority issue.

type CaaBlock = FindingOf<'caa_blocks'>;

/** Empty if our own target has the records. */
function caaChanges(place: ChangePlace): readonly DnsChange[] {
  const block = findingOf(place, 'caa_blocks');
  if (block === undefined || block.ours) return [];
  const at = block.differ?.at ?? block.publishedAt ?? block.foundAt;
  const name = at === place.zone ? apexNameAt(place) : foreignName(nameIn(place.zone, at));
  const about = { type: 'CAA', name, ttl: place.record.ttl } as const;
  const there = { ...about, ttl: ttlAt(place, at) };
  const servers = serversAt(place, at, block);
  const progress = { state: servers.length === 0 ? ('to_do' as const) : stateOf(servers), servers };
  const toRemove = block.toRemove ?? [];
  const kept = block.records.filter((record) => !toRemove.includes(record));
  // Deleting them is enough: the other records allow our CA, or none of them restricts it.
  const isEnough =
    toRemove.length > 0 &&
    (kept.includes(block.toAdd) || !kept.some((record) => / issue /i.test(record)));
  const none = { state: 'done', servers: [] } as const;
  return [
    ...kept.map((value): DnsChange => ({ verb: 'keep', ...there, value: foreign(value), ...none })),
    ...toRemove.map(
      (value): DnsChange => ({
        verb: 'delete',
        ...there,
        value: foreign(value),
        ...progress,
        note: 'Or set its flags to 0.',
      }),
    ),
    ...(isEnough ? [] : [addition(place, block, about, progress)]),
  ];
}

function addition(
  { provider }: ChangePlace,
  block: CaaBlock,
  about: Pick<DnsChange, 'type' | 'name' | 'ttl'>,
  progress: Pick<DnsChange, 'state' | 'servers'>,
): DnsChange {
  const { toAdd, orToAdd, records } = block;
  const bare = withoutParameters(toAdd);
  return {
    verb: 'add',
    ...about,
    value: foreign(toAdd),
    ...progress,
    ...noted(
      isSplit(block) && actorOf(block) === 'customer' ? explain(block).action : undefined,
      ...explain(block).hints.map(({ text }) => text),
      formOf(provider).hasCaaText ? undefined : fieldsOf(foreign(toAdd)),
      bare === toAdd ? undefined : `For any account and method: ${foreign(bare)}.`,
      orToAdd === undefined ? undefined : `Or, for our second CA: ${listed(orToAdd)}.`,
      records.length > 0 ? 'Keep the other CAA records.' : undefined,
    ),
  };
}

/** Most forms have three fields. */
function fieldsOf(record: string): string | undefined {
  const [, flags, tag, value] = /^(\d+) (\S+) "(.*)"$/.exec(record) ?? [];
  return value === undefined
    ? undefined
    : `In three fields: flags ${flags}, tag ${tag}, value ${value}.`;
}

/** Empty for a name outside of the zone: its servers were not queried individually. */
function serversAt(place: ChangePlace, at: string, block: CaaBlock): readonly ServerChange[] {
  if (block.differ !== undefined) {
    return block.differ.servers.map(({ server, records, allows }) => ({
      name: foreign(server),
      state: allows ? 'done' : 'to_do',
      shows: caaShown(records),
    }));
  }
  const isInZone = at === place.zone || at.endsWith(`.${place.zone}`);
  if (!isInZone || place.observation?.view !== 'authoritative') return [];
  const shows = caaShown(block.records);
  return place.servers.map(({ name, views }) => {
    const answers = views.some(({ state }) => speaksForZone(state));
    return { name: foreign(name), state: answers ? 'to_do' : 'unknown', shows };
  });
}

function caaShown(records: readonly string[]): string {
  return records.length === 0 ? 'no CAA record' : lines(unique(records).map(foreignName));
}

/** As observed; 0 if only the difference between servers is known. */
function ttlAt({ observation }: ChangePlace, at: string): number {
  const level = observation?.caa?.find(({ name, publishedAt }) => (publishedAt ?? name) === at);
  return level?.answer.kind === 'records' ? level.answer.ttlSeconds : 0;
}
