/**
 * Cases as lines: `title | servers | records | host | verdict code record | phrase`.
 * - title: `*` before it makes the case quick.
 * - servers: operators, with the number of their servers (`dead*3`) and what differs there:
 *   `bind!unknown`, `bind!not_received`, `front:truncates`; `signed`. `each`: a case per program.
 * - records: as in a master file, relative to the zone, separated by ` ; `. `bind: docs A 192.0.2.1`:
 *   only there. `@parent: …`: in the registry's zone. `@zone: a.nsd.test`: the zone's own NS records.
 * - code: `-` without a finding; `+code`: a further one. record: `CNAME docs`.
 * `{z}` stands for the zone; each case has its own.
 */
import type { FindingCode } from '../../../src/core/diagnosis/findings.ts';
import type { Verdict } from '../../../src/core/life/lifecycle.ts';
import type { FrontRule } from '../../support/other-name-servers.ts';
import type { Case } from './case.ts';
import { type Apart, type Holder, operatorOf, type TreeZone } from './zones.ts';

/** Programs that serve a zone as written. */
const PROGRAMS = ['nsd', 'bind', 'knot', 'pdns'] as const;

/** `family`: the start of the zones' names. `more`: further zones, by title. */
export function table(
  family: string,
  text: string,
  more: Readonly<Record<string, readonly TreeZone[]>> = {},
): readonly Case[] {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return lines.flatMap((line, index) => {
    const cells = line.split('|').map((cell) => cell.trim());
    const title = (cells[0] ?? '').replace(/^\*/, '');
    const [name, beside] = [`${family}${index + 1}`, more[title] ?? []];
    if (cells[1] !== 'each') return [caseOf(cells, `${name}.test`, title, beside)];
    return PROGRAMS.map((program) => {
      const own = cells.with(1, program);
      const quick = program === 'bind' || !cells[0]?.startsWith('*') ? own : own.with(0, title);
      return caseOf(quick, `${name}-${program}.test`, `${title}, at ${program}`, beside);
    });
  });
}

function caseOf(
  given: readonly string[],
  zone: string,
  title: string,
  beside: readonly TreeZone[],
): Case {
  const cells = given.map((cell) => cell.replaceAll('{z}', zone));
  const [mark = '', servers = '', records = '', host = '', must = '', says = ''] = cells;
  const [verdict, leading, ...rest] = must.split(' ');
  const also = rest.filter((word) => word.startsWith('+')).map((word) => word.slice(1));
  return {
    title,
    zones: [zoneOf(zone, servers, records), ...beside],
    hostname: host === '@' ? zone : `${host}.${zone}`,
    verdict: verdict as Verdict,
    leading: leading === '-' ? null : (leading as FindingCode),
    ...(also.length > 0 && { also: also as FindingCode[] }),
    record: rest.filter((word) => !word.startsWith('+')).join(' '),
    says: says === '' ? null : says,
    ...(mark.startsWith('*') && { quick: true as const }),
  };
}

function zoneOf(name: string, at: string, text: string): TreeZone {
  const words = at.split(' ').filter((word) => word !== '');
  const entries = text.split(' ; ').filter((entry) => entry !== '');
  const tagged = (tag: string) =>
    entries.flatMap((one) => (one.startsWith(`${tag}: `) ? one.slice(tag.length + 2) : []));
  const front = words.flatMap((word) => /\bfront\S*:(\S+)/.exec(word)?.[1] ?? [])[0];
  const [atZone] = tagged('@zone');
  return {
    name,
    records: entries.filter((one) => !/^@?\w+: /.test(one)),
    servers: words.filter((word) => word !== 'signed').flatMap(serversIn),
    ...(atZone !== undefined && { atZone: atZone.split(' ') }),
    ...(words.includes('signed') && { signing: 'well' as const }),
    apart: apartIn(words, tagged),
    atParent: tagged('@parent'),
    ...(front !== undefined && { front: front as FrontRule }),
  };
}

/** `nsd*2` → `a.nsd.test`, `b.nsd.test`; a full name is kept. */
function serversIn(word: string): readonly string[] {
  const [, operator = '', count = '1'] = /^([\w.-]+?)(?:\*(\d+))?(?:[!:].*)?$/.exec(word) ?? [];
  if (operator.includes('.')) return [operator];
  return Array.from({ length: Number(count) }, (_, i) => `${'abcdefgh'[i]}.${operator}.test`);
}

function apartIn(words: readonly string[], tagged: (tag: string) => readonly string[]) {
  const marked = words.flatMap((word) => {
    const [, operator, apart] = /^(\w+)!(\w+)$/.exec(word) ?? [];
    return operator === undefined
      ? []
      : [[operatorOf(`${operator}.test`), apart as Apart] as const];
  });
  const own = (['nsd', 'nsd2', 'bind', 'knot', 'pdns'] as const).flatMap((holder) => {
    const records = tagged(holder);
    return records.length > 0 ? [[holder, records] as const] : [];
  });
  return Object.fromEntries([...marked, ...own]) as { readonly [H in Holder]?: Apart };
}
