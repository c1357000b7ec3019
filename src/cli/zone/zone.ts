/** `signpost zone`: the records that the platform has to publish for its own name. Asks nobody. */
import {
  doubtsAbout,
  inMasterFile,
  type PlatformZoneSettings,
  platformZone,
} from '../../core/names/platform-zone.ts';
import { printable } from '../../core/names/printable.ts';
import { done, type Io, isHelp, type Outcome, parseOptions } from '../command.ts';
import { settingsFrom, TTL_SECONDS_DEFAULT } from './settings.ts';

const options = {
  ttl: { type: 'string' },
  accounturi: { type: 'string' },
  validationmethods: { type: 'string' },
  json: { type: 'boolean' },
} as const;

/** Prints the records; what may not have been meant goes to the other output, and does not keep them back. */
export async function runZone(args: readonly string[], io: Io): Promise<Outcome> {
  if (args[0] === 'help' || args.some(isHelp)) {
    io.out(usage);
    return done;
  }
  const parsed = parseOptions(args, options, {
    count: 0,
    tooMany: (word) => `“${printable(word, 50)}” is too much`,
  });
  if (!parsed.ok) return showUsage(parsed.refusal, io);
  const { json = false, ...given } = parsed.values;
  const read = settingsFrom(given, io.env);
  if (!read.ok) return showUsage(read.refusal, io);
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

function showUsage(refusal: Outcome, io: Io): Outcome {
  io.err(`Usage: signpost zone ${synopsis}\n`);
  return refusal;
}

const synopsis = '[--ttl <seconds>] [--accounturi <url>] [--validationmethods <methods>] [--json]';

const usage = `Usage: signpost zone ${synopsis}

Prints the records to publish below PLATFORM_DOMAIN, as lines of a zone file: the edge's addresses, and the CAA
records by which a customer's own do not keep a subdomain from its certificate. docs/platform-zone.md says why.

  --ttl <seconds>                  of every record, 1 to 86400; ${TTL_SECONDS_DEFAULT} where it is left out
  --accounturi <url>               only our account may be issued for (RFC 8657)
  --validationmethods <methods>    only by these: ACME_CHALLENGE's, or http-01,tls-alpn-01 (RFC 8657)
  --json                           the same records for programs

They are made of the service's PLATFORM_DOMAIN, PLATFORM_ADDRESSES, ACME_ISSUER_DOMAINS,
ACME_FALLBACK_ISSUER_DOMAINS and ACME_CONTACT, from the environment or .env. Nothing is asked or changed.

Exit 0: done. Exit 2: something is missing or wrong.
`;
