/** CAA records (RFC 8659, RFC 8657): who may issue, where they stand, and how they are written. */
import { table } from '../table.ts';

const ours = '@ A 203.0.113.10 ; @ A 203.0.113.11 ; @ AAAA 2001:db8:1::10';
const right = 'docs CNAME p1.edge.test.';

export const caa = table(
  'caa',
  `
*nobody may issue                                 | nsd bind | ${right} ; @ CAA 0 issue ";" | docs | wrong caa_blocks CNAME docs | do not let any certificate authority issue
our authority may issue                           | nsd bind | ${right} ; @ CAA 0 issue "letsencrypt.org" | docs | right - CNAME docs |
our authority may issue, at the apex              | nsd bind | ${ours} ; @ CAA 0 issue "letsencrypt.org" | @ | right - ALIAS @ |
another one may issue, at the apex                | nsd bind | ${ours} ; @ CAA 0 issue "ca.example" | @ | wrong caa_blocks ALIAS @ | ca.example
another one for wildcards only                    | nsd bind | ${right} ; @ CAA 0 issuewild "ca.example" | docs | right - CNAME docs |
nobody for wildcards, ours for names              | nsd knot | ${right} ; @ CAA 0 issue "letsencrypt.org" ; @ CAA 0 issuewild ";" | docs | right - CNAME docs |
nothing but where to complain                     | nsd bind | ${right} ; @ CAA 0 iodef "mailto:security@edge.test" | docs | right - CNAME docs |
*a tag that nobody knows, critical                | nsd bind | ${right} ; @ CAA 128 future "x" | docs | wrong caa_blocks CNAME docs | set to flags 0
a tag that nobody knows, not critical             | nsd bind | ${right} ; @ CAA 0 future "x" | docs | right - CNAME docs |
our authority, but another account                | nsd bind | ${right} ; @ CAA 0 issue "letsencrypt.org; accounturi=https://ca.example/acct/1" | docs | right caa_warns CNAME docs | accounturi
our authority by another method only              | nsd bind | ${right} ; @ CAA 0 issue "letsencrypt.org; validationmethods=dns-01" | docs | wrong caa_blocks CNAME docs | validationmethods
our authority by our method                       | nsd bind | ${right} ; @ CAA 0 issue "letsencrypt.org; validationmethods=http-01,dns-01" | docs | right - CNAME docs |
our authority in upper case                       | nsd bind | ${right} ; @ CAA 0 issue "LetsEncrypt.org" | docs | wrong caa_blocks CNAME docs | lower case
our authority with a dot                          | nsd bind | ${right} ; @ CAA 0 issue "letsencrypt.org." | docs | wrong caa_blocks CNAME docs | dot
our authority with a scheme                       | nsd bind | ${right} ; @ CAA 0 issue "https://letsencrypt.org" | docs | wrong caa_blocks CNAME docs | has more than its name
a record forbids while the name is missing        | nsd bind | @ CAA 0 issue "ca.example" | docs | wrong record_missing +caa_blocks CNAME docs | does not exist in the DNS yet
a nearer set allows what the one above forbids    | nsd bind | docs.team CNAME p1.edge.test. ; team CAA 0 issue "letsencrypt.org" ; @ CAA 0 issue "ca.example" | docs.team | right - CNAME docs.team |
a nearer set forbids what the one above allows    | nsd bind | docs.team CNAME p1.edge.test. ; team CAA 0 issue "ca.example" ; @ CAA 0 issue "letsencrypt.org" | docs.team | wrong caa_blocks CNAME docs.team | team.{z}
the level above is an alias of a set that forbids | nsd bind | docs.team CNAME p1.edge.test. ; team CNAME other ; other CAA 0 issue "ca.example" | docs.team | wrong caa_blocks CNAME docs.team | other.{z}
a set of twenty records                           | nsd bind | ${right} ; ${Array.from({ length: 20 }, (_, i) => `@ CAA 0 issue "ca${i}.example"`).join(' ; ')} | docs | wrong caa_blocks CNAME docs | letsencrypt.org
a set as large as a message                       | nsd knot | ${right} ; @ CAA 0 issue "letsencrypt.org" ; ${Array.from({ length: 30 }, (_, i) => `@ CAA 0 x${i} "${'y'.repeat(200)}"`).join(' ; ')} | docs | right - CNAME docs |
`,
);
