/** Whether our certificate authority may issue for the name. */
import { recordToAdd } from '../caa/caa-value.ts';
import type { Finding } from './findings.ts';
import { type Look, unique } from './look.ts';

/** The set forbids our authority. */
export function caaBlocks({ expected: { hostname, ca }, caa }: Look): Finding | undefined {
  if (caa?.kind !== 'deny') return undefined;
  const { foundAt, records, toRemove, reason, method, hint, rfc } = caa;
  return {
    code: 'caa_blocks',
    hostname,
    foundAt,
    records,
    toAdd: recordToAdd(ca.issuerDomains[0]),
    ...(toRemove.length === 0 ? {} : { toRemove }),
    reason,
    ...(method === undefined ? {} : { method }),
    ...(hint === undefined ? {} : { hint }),
    rfc,
  };
}

/** The climb gave no answer. While the name does not point here nothing depends on it. */
export function caaUnknown({ expected, caa, pointing }: Look): Finding | undefined {
  if (caa?.kind !== 'unknown' || pointing !== 'right') return undefined;
  return { code: 'caa_unknown', hostname: expected.hostname, name: caa.name, outcome: caa.outcome };
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
