/** An HTTPS record (RFC 9460) at an apex: browsers that read it ignore the addresses. */
import type { FamilyOf } from './finding.ts';
import { type DiagnosisInput, unique } from './input.ts';
import { type HttpsRecord, recordsOf } from './observation.ts';
import { isSameName } from './server-pointing.ts';
import { foreignName, lines, type Wanted } from './words.ts';

export type HttpsRecordFinding = Wanted & {
  readonly code: 'https_record_mismatch';
  /** In presentation form, sorted; without parameters that do not decide where browsers connect. */
  readonly records: readonly string[];
  /** They only have a key for Encrypted Client Hello, which our edge cannot decrypt. */
  readonly onlyEch?: true;
};

export const httpsRecord: FamilyOf<HttpsRecordFinding> = {
  https_record_mismatch: {
    meaning: 'An HTTPS record sends browsers elsewhere or has a key that is not ours',
    severity: 'warns',
    actor: 'customer',
    order: 205,
    check: httpsRecordMismatch,
    explain: ({ hostname, target, records, onlyEch }) => ({
      summary: onlyEch
        ? `The HTTPS record of ${hostname} has a key for Encrypted Client Hello that is not ours. Browsers that use it cannot connect.`
        : `The HTTPS record of ${hostname} sends browsers elsewhere, whatever its addresses are.`,
      expected: `No HTTPS record at ${hostname}, or one with the addresses of ${target} and without ech.`,
      found: lines(records.map(foreignName), '; '),
      action: `At your DNS provider, delete the HTTPS record (type 65) of ${hostname}. If the provider creates it for its own proxy or CDN, turn that off for ${hostname}.`,
    }),
  },
};

function httpsRecordMismatch(input: DiagnosisInput): HttpsRecordFinding | undefined {
  if (!input.apex || input.hasNoZone) return undefined;
  const all = recordsOf(input.observation.nearby.https ?? null);
  const elsewhere = all.filter((record) => leadsElsewhere(record, input));
  const found = elsewhere.length > 0 ? elsewhere : all.filter(({ ech }) => ech);
  if (found.length === 0) return undefined;
  return {
    code: 'https_record_mismatch',
    ...input.wanted,
    records: unique(found.map(presented)),
    ...(elsewhere.length === 0 ? { onlyEch: true } : {}),
  };
}

function leadsElsewhere({ target, port, hints }: HttpsRecord, input: DiagnosisInput): boolean {
  const { hostname, target: wanted } = input.expected;
  const isHere = target === '.' || [hostname, wanted].some((name) => isSameName(name, target));
  if (!isHere || (port ?? 443) !== 443) return true;
  const isComparable = input.observation.targetAddresses.length > 0;
  return isComparable && hints.some((hint) => !input.isOwn(hint));
}

/** `HTTPS 1 . ipv4hint=192.0.2.1`; the key itself is left out. */
function presented({ priority, target, port, hints, ech }: HttpsRecord): string {
  const ofFamily = (six: boolean) => hints.filter((hint) => hint.includes(':') === six).join(',');
  const parameters = [
    ['port', port === null ? '' : String(port)],
    ['ipv4hint', ofFamily(false)],
    ['ech', ech ? '…' : ''],
    ['ipv6hint', ofFamily(true)],
  ].flatMap(([name, value]) => (value === '' ? [] : `${name}=${value}`));
  return ['HTTPS', String(priority), target, ...parameters].join(' ');
}
