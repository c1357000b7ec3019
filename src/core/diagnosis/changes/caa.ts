/** The CAA records that let our certificate authority issue. */

import { isSplit } from '../caa/caa-differ.ts';
import { withoutParameters } from '../caa/caa-value.ts';
import { actorOf, explain, type FindingOf } from '../findings.ts';
import { unique } from '../input.ts';
import { formOf } from '../provider-forms.ts';
import { speaksForZone } from '../server-pointing.ts';
import { foreign, foreignName, lines, listed } from '../words.ts';
import { type DnsChange, nameIn, noted, type ServerChange } from './change.ts';
import { apexNameAt } from './notes.ts';
import { type ChangePlace, findingOf } from './place.ts';
import { stateOf } from './spread.ts';

type CaaBlock = FindingOf<'caa_blocks'>;

/** Empty if our own target has the records. */
export function caaChanges(place: ChangePlace): readonly DnsChange[] {
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
