/** `signpost zone`: the records that the platform has to publish for its own name. Asks nobody. */

import { type Config, loadConfig } from '../config/config.ts';
import {
  doubtsAbout,
  inMasterFile,
  PLATFORM_DOMAIN_LENGTH_MAX,
  type PlatformZoneSettings,
  platformZone,
} from '../core/names/platform-zone.ts';
import { printable } from '../core/names/printable.ts';
import { done, type Io, type Outcome, wrongUsage } from './command.ts';

/**
 * Prints the records, as lines of a zone file or as JSON. What may not have been meant goes to standard error, or
 * into the JSON, and keeps nothing back. Reads the environment alone: no server is asked.
 */
export async function runZone(
  { json = false, ...given }: Given & { readonly json?: boolean },
  io: Io,
): Promise<Outcome> {
  const read = settingsFrom(given, io.env);
  if (!read.ok) return read.refusal;
  io.out(json ? asJson(read.settings) : asText(read.settings));
  if (!json) for (const doubt of doubtsAbout(read.settings)) io.err(`signpost: ${doubt}\n`);
  return done;
}

function asText(settings: PlatformZoneSettings): string {
  return `; For the zone that ${settings.platformDomain} is in: signpost zone\n${inMasterFile(platformZone(settings))}`;
}

function asJson(settings: PlatformZoneSettings): string {
  const { platformDomain } = settings;
  const shown = { platformDomain, records: platformZone(settings), doubts: doubtsAbout(settings) };
  return `${JSON.stringify(shown, null, 2)}\n`;
}

/** The options of the command as they were typed; undefined for those that were not. */
export type Given = {
  /** In seconds. */
  readonly ttl?: string | undefined;
  /** The URL of our account at the certificate authority (RFC 8657, 3). */
  readonly accounturi?: string | undefined;
  /** Methods with commas between them. */
  readonly validationmethods?: string | undefined;
};

/** What the records are made of, or what is missing or wrong. */
export type Settings =
  | { readonly ok: true; readonly settings: PlatformZoneSettings }
  | { readonly ok: false; readonly refusal: Outcome };

/** The one that the service proves names by. */
type Method = Config['acme']['challenge'];

/**
 * The TTL of every record, in seconds. Our choice: short enough to move within minutes, and every resolver keeps to
 * it.
 */
export const TTL_SECONDS_DEFAULT = 300;
/** A day: with a longer one the platform could hardly move. */
const TTL_SECONDS_MAX = 86_400;

/** Whatever else the environment holds is not read, be it right or wrong. */
const relevant =
  /^(?:PLATFORM_|ACME_(?:CONTACT|CHALLENGE)$|ACME_(?:FALLBACK_)?(?:ISSUER_DOMAINS|DIRECTORY_URL)$)/;

/**
 * Reads the options and those of the service's variables that the records are made of; the rest of the environment is
 * ignored, right or wrong. Refuses with everything that is wrong at once.
 */
export function settingsFrom(given: Given, env: Io['env']): Settings {
  const known = Object.fromEntries(Object.entries(env).filter(([name]) => relevant.test(name)));
  const loaded = loadConfig(known);
  const problems = [
    ...(loaded.ok ? [] : loaded.problems.map(({ variable, problem }) => `${variable} ${problem}`)),
    ...unsaid(known),
    ...wrongOptions(given, loaded.ok ? loaded.config.acme.challenge : 'http-01'),
  ];
  if (!loaded.ok || problems.length > 0) {
    return { ok: false, refusal: wrongUsage(problems.join('; ')) };
  }
  const { platform, acme } = loaded.config;
  const parameters = (['accounturi', 'validationmethods'] as const).flatMap((tag) => {
    const value = given[tag];
    return value === undefined ? [] : [{ tag, value }];
  });
  return {
    ok: true,
    settings: {
      platformDomain: platform.domain,
      addresses: platform.addresses,
      issuerDomains: acme.issuerDomains,
      fallbackIssuerDomains: acme.fallback?.issuerDomains ?? [],
      ttlSeconds: Number(given.ttl ?? TTL_SECONDS_DEFAULT),
      contact: acme.contact ?? null,
      parameters,
    },
  };
}

/** What the service does without, and a zone cannot. A zone made of defaults would be another platform's. */
function unsaid(env: Readonly<Record<string, string | undefined>>): string[] {
  const domain = env['PLATFORM_DOMAIN'] ?? '';
  const rules: readonly [boolean, string][] = [
    [
      domain === '',
      'PLATFORM_DOMAIN is needed: the name that customers’ records point below, such as edge.example.net',
    ],
    [
      domain.length > PLATFORM_DOMAIN_LENGTH_MAX,
      `PLATFORM_DOMAIN must have ${PLATFORM_DOMAIN_LENGTH_MAX} characters or fewer, as a target has 17 more`,
    ],
    [
      !env['PLATFORM_ADDRESSES'],
      'PLATFORM_ADDRESSES is needed: the edge’s public addresses, comma separated',
    ],
    [
      !env['ACME_ISSUER_DOMAINS'] && !isLetsEncrypt(env['ACME_DIRECTORY_URL']),
      'ACME_ISSUER_DOMAINS is needed: how CAA records name the certificate authority of ACME_DIRECTORY_URL',
    ],
  ];
  return rules.flatMap(([wrong, problem]) => (wrong ? [problem] : []));
}

/** Whose identity is the default of ACME_ISSUER_DOMAINS. */
function isLetsEncrypt(directoryUrl: string | undefined): boolean {
  if (!directoryUrl || !URL.canParse(directoryUrl)) return true; // none; or refused for what it is
  return new URL(directoryUrl).hostname.endsWith('.letsencrypt.org');
}

function wrongOptions({ ttl, accounturi, validationmethods }: Given, ours: Method): string[] {
  const rules: readonly [value: string | undefined, (text: string) => boolean, problem: string][] =
    [
      [ttl, isTtl, `must be seconds, 1 to ${TTL_SECONDS_MAX}`],
      [
        accounturi,
        isAccountUri,
        'must be the account’s URL to the letter, such as https://acme-v02.api.letsencrypt.org/acme/acct/123',
      ],
      [
        validationmethods,
        (text) => isOurMethodIn(text, ours),
        `must be ${ours}, by which certificates are ordered, or http-01,tls-alpn-01`,
      ],
    ];
  const names = ['--ttl', '--accounturi', '--validationmethods'];
  return rules.flatMap(([value, isRight, problem], index) =>
    value === undefined || isRight(value)
      ? []
      : [`${names[index]} ${printable(value, 80)}: ${problem}`],
  );
}

function isTtl(text: string): boolean {
  return /^[1-9]\d{0,5}$/.test(text) && Number(text) <= TTL_SECONDS_MAX;
}

/** Only what a CAA record holds as it is (RFC 8659, 4.2), so that authorities compare what was meant (RFC 8657, 3). */
function isAccountUri(text: string): boolean {
  return /^https:\/\/[\x21\x23-\x3a\x3c-\x5b\x5d-\x7e]+$/.test(text) && URL.canParse(text);
}

/** Without it, the set would forbid us what it is for. */
function isOurMethodIn(text: string, ours: Method): boolean {
  const methods = text.split(',');
  const known = methods.every((one) => one === 'http-01' || one === 'tls-alpn-01');
  return known && methods.includes(ours);
}
