/** `signpost zone`: prints the DNS records that the platform must publish. Makes no requests. */

import { type Config, loadConfig } from '../config/config.ts';
import {
  doubtsAbout,
  inMasterFile,
  PLATFORM_DOMAIN_LENGTH_MAX,
  type PlatformZoneSettings,
  platformZone,
} from '../core/names/platform-zone.ts';
import { printable } from '../core/names/printable.ts';
import { type CliExit, exitDone, type Io, wrongUsage } from './command.ts';

/** Warnings go to standard error or into the JSON. */
export async function runZone(
  { json = false, ...given }: ZoneCommandOptions & { readonly json?: boolean },
  io: Io,
): Promise<CliExit> {
  const read = settingsFrom(given, io.env);
  if (!read.ok) return read.refusal;
  io.out(json ? asJson(read.settings) : asText(read.settings));
  if (!json) for (const doubt of doubtsAbout(read.settings)) io.err(`signpost: ${doubt}\n`);
  return exitDone;
}

function asText(settings: PlatformZoneSettings): string {
  return `; Records for the zone of ${settings.platformDomain}, created by: signpost zone\n${inMasterFile(platformZone(settings))}`;
}

function asJson(settings: PlatformZoneSettings): string {
  const { platformDomain } = settings;
  const shown = { platformDomain, records: platformZone(settings), doubts: doubtsAbout(settings) };
  return `${JSON.stringify(shown, null, 2)}\n`;
}

/** As typed; undefined if not given. */
export type ZoneCommandOptions = {
  /** In seconds. */
  readonly ttl?: string | undefined;
  /** The URL of our account at the certificate authority (RFC 8657, 3). */
  readonly accounturi?: string | undefined;
  /** Comma-separated. */
  readonly validationmethods?: string | undefined;
};

type LoadedZoneSettings =
  | { readonly ok: true; readonly settings: PlatformZoneSettings }
  | { readonly ok: false; readonly refusal: CliExit };

type ChallengeMethod = Config['acme']['challenge'];

/** For every record. Short enough to move within minutes, and no resolver overrides it. */
const TTL_SECONDS_DEFAULT = 300;
/** One day: a longer TTL would make a move too slow. */
const TTL_SECONDS_MAX = 86_400;

/** Other variables are ignored, even invalid ones. */
const relevant =
  /^(?:PLATFORM_|ACME_(?:CONTACT|CHALLENGE)$|ACME_(?:FALLBACK_)?(?:ISSUER_DOMAINS|DIRECTORY_URL)$)/;

/** Reports all errors at once. */
function settingsFrom(given: ZoneCommandOptions, env: Io['env']): LoadedZoneSettings {
  const known = Object.fromEntries(Object.entries(env).filter(([name]) => relevant.test(name)));
  const loaded = loadConfig(known);
  const problems = [
    ...(loaded.ok ? [] : loaded.problems.map(({ variable, problem }) => `${variable} ${problem}`)),
    ...missingVariables(known),
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

/** Optional for the service but required here. Defaults would describe another platform. */
function missingVariables(env: Readonly<Record<string, string | undefined>>): string[] {
  const domain = env['PLATFORM_DOMAIN'] ?? '';
  const rules: readonly [boolean, string][] = [
    [
      domain === '',
      'PLATFORM_DOMAIN is required: the domain below which customers’ records point, such as edge.example.net',
    ],
    [
      domain.length > PLATFORM_DOMAIN_LENGTH_MAX,
      `PLATFORM_DOMAIN must have at most ${PLATFORM_DOMAIN_LENGTH_MAX} characters, because a target has 17 more`,
    ],
    [
      !env['PLATFORM_ADDRESSES'],
      'PLATFORM_ADDRESSES is required: the edge’s public addresses, comma-separated',
    ],
    [
      !env['ACME_ISSUER_DOMAINS'] && !isLetsEncrypt(env['ACME_DIRECTORY_URL']),
      'ACME_ISSUER_DOMAINS is required: the CAA identity of the certificate authority of ACME_DIRECTORY_URL',
    ],
  ];
  return rules.flatMap(([wrong, problem]) => (wrong ? [problem] : []));
}

/** The CA of the default ACME_ISSUER_DOMAINS. */
function isLetsEncrypt(directoryUrl: string | undefined): boolean {
  if (!directoryUrl || !URL.canParse(directoryUrl)) return true; // unset, or refused elsewhere
  return new URL(directoryUrl).hostname.endsWith('.letsencrypt.org');
}

function wrongOptions(
  { ttl, accounturi, validationmethods }: ZoneCommandOptions,
  ours: ChallengeMethod,
): string[] {
  const rules: readonly [value: string | undefined, (text: string) => boolean, problem: string][] =
    [
      [ttl, isTtl, `must be a number of seconds from 1 to ${TTL_SECONDS_MAX}`],
      [
        accounturi,
        isAccountUri,
        'must be the exact URL of the account, such as https://acme-v02.api.letsencrypt.org/acme/acct/123',
      ],
      [
        validationmethods,
        (text) => isOurMethodIn(text, ours),
        `must be ${ours} (ACME_CHALLENGE) or http-01,tls-alpn-01`,
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

/** CAs compare the URL (RFC 8657, 3), so a CAA record must hold it literally (RFC 8659, 4.2). */
function isAccountUri(text: string): boolean {
  return /^https:\/\/[\x21\x23-\x3a\x3c-\x5b\x5d-\x7e]+$/.test(text) && URL.canParse(text);
}

/** Without our method, the records would forbid our own orders. */
function isOurMethodIn(text: string, ours: ChallengeMethod): boolean {
  const methods = text.split(',');
  const known = methods.every((one) => one === 'http-01' || one === 'tls-alpn-01');
  return known && methods.includes(ours);
}
