/** An HTTPS record (RFC 9460) at an apex: browsers that read it can ignore the addresses. */
import type { FamilyOf } from './finding.ts';
import { type DiagnosisInput, unique } from './input.ts';
import { type HttpsRecord, recordsOf } from './observation.ts';
import { isProxiedHere } from './proxies.ts';
import { foreignName, lines, type Wanted } from './words.ts';

/**
 * What it does to browsers: leads elsewhere; says that there is no service (RFC 9460, section 2.5.1); has
 * foreign addresses as hints; has a key for Encrypted Client Hello, which our edge cannot decrypt.
 */
type Effect = 'elsewhere' | 'no_service' | 'hints' | 'ech';

export type HttpsRecordFinding = Wanted & {
  readonly code: 'https_record_mismatch';
  readonly effect: Effect;
  /** In presentation form, sorted; without parameters that do not decide where browsers connect. */
  readonly records: readonly string[];
};

export const httpsRecord: FamilyOf<HttpsRecordFinding> = {
  https_record_mismatch: {
    meaning: 'An HTTPS record sends browsers elsewhere or has a key that is not ours',
    severity: 'warns',
    actor: 'customer',
    order: 205,
    check: httpsRecordMismatch,
    explain: ({ hostname, target, effect, records }) => ({
      summary: `The HTTPS record of ${hostname} ${effects[effect]}`,
      expected: `No HTTPS record at ${hostname}, or one with the addresses of ${target} and without ech.`,
      found: lines(records.map(foreignName), '; '),
      action: `At your DNS provider, delete the HTTPS record (type 65) of ${hostname}. If the provider creates it for its own proxy or CDN, turn that off for ${hostname}.`,
    }),
  },
};

const effects: { readonly [E in Effect]: string } = {
  elsewhere: 'sends browsers to another host or port, even if the A and AAAA records are right.',
  no_service: 'says that the name has no website. Some browsers then do not connect.',
  hints: 'has other addresses as hints, which some browsers try first.',
  ech: 'has a key for Encrypted Client Hello that is not ours. Browsers that use it cannot connect.',
};

/** The worst effect, with the records that have it. */
function httpsRecordMismatch(input: DiagnosisInput): HttpsRecordFinding | undefined {
  // A proxy has its own HTTPS records.
  if (!input.apex || input.hasNoZone || isProxiedHere(input)) return undefined;
  const all = recordsOf(input.observation.nearby.https ?? null);
  for (const effect of Object.keys(checks) as Effect[]) {
    const found = all.filter((record) => checks[effect](record, input));
    if (found.length === 0) continue;
    const records = unique(found.map(presented));
    return { code: 'https_record_mismatch', ...input.wanted, effect, records };
  }
  return undefined;
}

/** Worst first. */
const checks: { readonly [E in Effect]: (record: HttpsRecord, input: DiagnosisInput) => boolean } =
  {
    elsewhere: (record, input) =>
      (record.port ?? 443) !== 443 || hasForeign(record.addresses ?? [], input),
    no_service: ({ priority, target }) => priority === 0 && target === '.',
    hints: (record, input) => hasForeign(record.hints, input),
    ech: ({ ech }) => ech,
  };

/** Only if our own addresses are known. */
function hasForeign(addresses: readonly string[], { observation, isOwn }: DiagnosisInput): boolean {
  return observation.targetAddresses.length > 0 && addresses.some((one) => !isOwn(one));
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
