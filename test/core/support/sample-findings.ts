/** One finding per code, plain and with hostile evidence: a new code needs an entry to compile. */
import type { FindingCode, FindingOf } from '../../../src/core/diagnosis/findings.ts';
import type { Hint, HintCode } from '../../../src/core/diagnosis/hints.ts';
import { proofRecordFor } from '../../../src/core/names/proof.ts';

export const hostname = 'docs.example.com';
export const target = 'x.edge.test';
export const about = { hostname, target };
export const apex = { hostname: 'example.com', target };

/** Control characters, a color, a right-to-left override, a line break, and 10 kB. */
export const nasty = `a\u001b[31m\u202e\u0000\u0085\n\u2028${'x'.repeat(10_000)}`;

type Samples = { readonly [C in FindingCode]: FindingOf<C> };

export const samples: Samples = samplesWith('evidence.example');
/** With `nasty` as every untrusted text, in long lists. */
export const hostileSamples: Samples = samplesWith(nasty, 50);

export function hintsWith(text: string): { readonly [C in HintCode]: Hint & { readonly code: C } } {
  return {
    cname_indirect: { code: 'cname_indirect', via: [text, text] },
    doubled_name: { code: 'doubled_name', name: text },
    wrong_host: { code: 'wrong_host', name: text },
    relative_target: { code: 'relative_target', found: text },
    txt_instead_of_cname: { code: 'txt_instead_of_cname', text },
    wildcard_masks: { code: 'wildcard_masks', wildcard: text },
    trailing_junk: { code: 'trailing_junk', found: text },
    wildcard_stops: { code: 'wildcard_stops', wildcard: text },
    dname_above: { code: 'dname_above', owner: text, to: text },
    apex_points_here: { code: 'apex_points_here', apex: text },
    own_zone: { code: 'own_zone', parent: text },
    plain_answer: { code: 'plain_answer' },
    separate_zone: { code: 'separate_zone', zone: text, parent: text },
    partial_target: { code: 'partial_target', typed: text },
    doubled_end: { code: 'doubled_end', typed: text },
    misspelled_target: { code: 'misspelled_target', typed: text },
    other_target: { code: 'other_target', typed: text },
  };
}

function samplesWith(text: string, count = 1): Samples {
  const texts = Array.from({ length: count }, () => text);
  const errors = texts.map((one) => ({ code: 0, text: one }));
  const shows = texts.map((server) => ({ server, shows: text }));
  const zone = { hostname, zone: text };
  const hints = Object.values(hintsWith(text));
  return {
    record_missing: { code: 'record_missing', ...about, seen: 'nxdomain', exchanges: texts, hints },
    cname_mismatch: { code: 'cname_mismatch', ...about, found: text, hints },
    cname_loop: { code: 'cname_loop', ...about, names: [hostname, ...texts, hostname] },
    cname_at_apex: {
      code: 'cname_at_apex',
      ...apex,
      found: text,
      provider: text,
      ourAddresses: texts,
    },
    conflicting_a: {
      code: 'conflicting_a',
      ...about,
      addresses: texts,
      ours: [],
      exchanges: texts,
      hints,
    },
    conflicting_aaaa: { code: 'conflicting_aaaa', ...about, addresses: texts, ours: texts, hints },
    mail_at_name: { code: 'mail_at_name', ...about, exchanges: texts },
    apex_partial: { code: 'apex_partial', ...apex, addresses: texts, missing: texts },
    apex_mixed: { code: 'apex_mixed', ...apex, ours: texts, others: texts },
    apex_elsewhere: {
      code: 'apex_elsewhere',
      ...apex,
      addresses: texts,
      provider: text,
      ourAddresses: texts,
    },
    name_servers_disagree: {
      code: 'name_servers_disagree',
      ...about,
      right: texts,
      others: shows,
    },
    name_server_lame: {
      code: 'name_server_lame',
      ...zone,
      servers: texts.map((server) => ({ server, outcome: 'not_authoritative' })),
    },
    name_server_unreachable: {
      code: 'name_server_unreachable',
      ...zone,
      servers: texts.map((server) => ({ server, outcome: 'no_address' })),
    },
    delegation_mismatch: {
      code: 'delegation_mismatch',
      ...zone,
      parent: text,
      onlyAtParent: texts,
      onlyAtZone: [],
    },
    domain_unregistered: { code: 'domain_unregistered', hostname, domain: text, registry: text },
    no_name_servers: { code: 'no_name_servers', hostname, domain: text, registry: text },
    glue_mismatch: {
      code: 'glue_mismatch',
      ...zone,
      parent: text,
      servers: texts.map((server) => ({ server, atParent: texts, atZone: texts })),
    },
    https_record_mismatch: {
      code: 'https_record_mismatch',
      ...apex,
      effect: 'elsewhere',
      records: texts,
    },
    domain_parked: {
      code: 'domain_parked',
      hostname,
      domain: text,
      kind: 'parked',
      by: text,
      servers: texts,
    },
    wildcard_answers: { code: 'wildcard_answers', ...about, wildcard: text },
    proxied: { code: 'proxied', ...about, by: text, addresses: texts },
    reserved_address: {
      code: 'reserved_address',
      hostname,
      addresses: texts.map((at) => ({ at, address: text, range: text })),
    },
    dnssec_bogus: { code: 'dnssec_bogus', ...zone, errors },
    dns_unknown: {
      code: 'dns_unknown',
      hostname,
      servers: texts.map((server) => ({ server, outcome: 'refused' })),
      errors,
      zone: text,
      ownZone: { parent: text, target },
      target,
    },
    old_answer_cached: {
      code: 'old_answer_cached',
      ...about,
      remembered: 'positive',
      resolvers: shows,
      until: '2026-11-20T14:05:00.000Z',
    },
    caa_blocks: {
      code: 'caa_blocks',
      hostname,
      foundAt: text,
      publishedAt: text,
      records: texts,
      toAdd: '0 issue "letsencrypt.org"',
      toRemove: texts,
      reason: 'unknown_critical',
      hint: 'bare_name',
      rfc: 'allow',
    },
    plan_required: { code: 'plan_required', hostname },
    held_elsewhere: {
      code: 'held_elsewhere',
      hostname,
      proof: {
        record: proofRecordFor({ hostname, value: 'signpost-domain-verification=a' }),
        seen: 'missing',
        found: texts,
      },
    },
    ownership_unproven: {
      code: 'ownership_unproven',
      ...about,
      route: 'wildcard',
      proof: {
        record: proofRecordFor({ hostname, value: 'signpost-domain-verification=a' }),
        seen: 'missing',
        found: texts,
      },
    },
    caa_unknown: {
      code: 'caa_unknown',
      hostname,
      name: text,
      publishedAt: text,
      outcome: 'timeout',
    },
    caa_warns: {
      code: 'caa_warns',
      hostname,
      foundAt: text,
      records: texts,
      reasons: ['rfc_denies', 'account_untold', 'misspelt'],
    },
  };
}
