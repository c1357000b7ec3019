/** Whether our certificate authority may issue for the name. */
import { splitAtZone } from '../names/zone.ts';
import type { Finding } from './findings.ts';
import { type Look, unique } from './look.ts';
import { isSameName } from './pointing.ts';

/** The set forbids our authority. */
export function caaBlocks(look: Look): Finding | undefined {
  const { wanted, caa } = look;
  if (caa?.kind !== 'deny') return undefined;
  const { foundAt, records, toAdd, toRemove, reason, method, hint, rfc } = caa;
  return {
    code: 'caa_blocks',
    hostname: wanted.hostname,
    foundAt,
    ...placeOf(look, foundAt, caa.publishedAt),
    records,
    toAdd,
    ...(toRemove.length === 0 ? {} : { toRemove }),
    reason,
    ...(method === undefined ? {} : { method }),
    ...(hint === undefined ? {} : { hint }),
    rfc,
  };
}

/** The climb gave no answer. While the name does not point here nothing depends on it. */
export function caaUnknown(look: Look): Finding | undefined {
  const { wanted, caa, pointing } = look;
  if (caa?.kind !== 'unknown' || pointing !== 'right') return undefined;
  const { name, outcome } = caa;
  const place = placeOf(look, name, caa.publishedAt);
  const asked = askedOf(look, name);
  return { code: 'caa_unknown', hostname: wanted.hostname, name, ...place, ...asked, outcome };
}

/**
 * Whom the look asked about one step of the climb (src/dns/observe/caa.ts): the zone's own servers, our resolvers in their
 * place, or our resolvers about a registry's name, which none of the customer's servers answer for.
 */
function askedOf(
  { observation, wanted: { hostname } }: Look,
  name: string,
): { readonly asked?: 'resolver' | 'registry' } {
  const { zone } = splitAtZone(hostname);
  if (zone.endsWith(`.${name}`)) return { asked: 'registry' };
  return observation.view === 'recursive' ? { asked: 'resolver' } : {};
}

/** Our authority may issue, but not for a good reason, or not for long. */
export function caaWarns({ expected: { hostname }, caa }: Look): Finding | undefined {
  if (caa?.kind !== 'allow' || caa.warnings.length === 0) return undefined;
  const { foundAt, records, warnings } = caa;
  const reasons = [...new Set(warnings)].sort();
  return {
    code: 'caa_warns',
    hostname,
    foundAt: foundAt ?? hostname,
    records: unique(records),
    reasons,
  };
}

/**
 * Where the answer of one step of the climb stands, and whether it is the platform's to repair. The climb is made as if
 * the record were there, so a subdomain's own step is always that of the target.
 */
function placeOf(
  { apex, wanted: { hostname, target } }: Look,
  name: string,
  publishedAt: string | undefined,
): { readonly publishedAt?: string; readonly ours?: true } {
  const isOurs =
    (!apex && isSameName(name, hostname)) ||
    (publishedAt !== undefined && isSameName(publishedAt, target));
  return {
    ...(publishedAt === undefined ? {} : { publishedAt }),
    ...(isOurs ? { ours: true } : {}),
  };
}
