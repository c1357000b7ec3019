/** The records of an apex, which has no CNAME on the wire: what exists depends on the provider. */
import { unique } from '../input.ts';
import { isConclusive, recordsOf, type ServerView } from '../observation.ts';
import { formOf } from '../provider-forms.ts';
import { ownAddresses, pointingOf } from '../server-pointing.ts';
import { foreignName } from '../words.ts';
import { type DnsChange, noted } from './change.ts';
import { apexNameAt, DNS_ONLY, valueAt } from './notes.ts';
import { type ChangePlace, hintsAbout, isProxied } from './place.ts';
import { answersOf, type HasChange, spread } from './spread.ts';
import { notChecked, proxiedRecord, ttlOf } from './subdomain.ts';

export function apexChanges(place: ChangePlace): readonly DnsChange[] {
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
