/** CAA records (RFC 8659, RFC 8657): who may issue, where they stand, and how they are written. */
import { table } from '../table.ts';

const ours = '@ A 203.0.113.10 ; @ A 203.0.113.11 ; @ AAAA 2001:db8:1::10';
const right = 'docs CNAME p1.edge.test.';

export const caa = table(
  'caa',
  `
*no CA can issue | nsd bind | ${right} ; @ CAA 0 issue ";" | docs | wrong caa_blocks CNAME docs | do not let any certificate authority issue
our CA can issue | nsd bind | ${right} ; @ CAA 0 issue "letsencrypt.org" | docs | right - CNAME docs |
our CA can issue for the apex | nsd bind | ${ours} ; @ CAA 0 issue "letsencrypt.org" | @ | right - ALIAS @ |
another CA can issue for the apex | nsd bind | ${ours} ; @ CAA 0 issue "ca.example" | @ | wrong caa_blocks ALIAS @ | ca.example
another CA can issue wildcards | nsd bind | ${right} ; @ CAA 0 issuewild "ca.example" | docs | right - CNAME docs |
no CA can issue wildcards and ours can issue names | nsd knot | ${right} ; @ CAA 0 issue "letsencrypt.org" ; @ CAA 0 issuewild ";" | docs | right - CNAME docs |
only iodef is set | nsd bind | ${right} ; @ CAA 0 iodef "mailto:security@edge.test" | docs | right - CNAME docs |
*an unknown tag is critical | nsd bind | ${right} ; @ CAA 128 future "x" | docs | wrong caa_blocks CNAME docs | set to flags 0
an unknown tag is not critical | nsd bind | ${right} ; @ CAA 0 future "x" | docs | right - CNAME docs |
our CA is named with another account | nsd bind | ${right} ; @ CAA 0 issue "letsencrypt.org; accounturi=https://ca.example/acct/1" | docs | right caa_warns CNAME docs | accounturi
our CA is named with another method | nsd bind | ${right} ; @ CAA 0 issue "letsencrypt.org; validationmethods=dns-01" | docs | wrong caa_blocks CNAME docs | validationmethods
our CA is named with our method | nsd bind | ${right} ; @ CAA 0 issue "letsencrypt.org; validationmethods=http-01,dns-01" | docs | right - CNAME docs |
our CA is named in upper case | nsd bind | ${right} ; @ CAA 0 issue "LetsEncrypt.org" | docs | wrong caa_blocks CNAME docs | lower case
our CA is named with a dot | nsd bind | ${right} ; @ CAA 0 issue "letsencrypt.org." | docs | wrong caa_blocks CNAME docs | dot
our CA is named with a scheme | nsd bind | ${right} ; @ CAA 0 issue "https://letsencrypt.org" | docs | wrong caa_blocks CNAME docs | has more than its name
CAA forbids while the name is missing | nsd bind | @ CAA 0 issue "ca.example" | docs | wrong record_missing +caa_blocks CNAME docs | does not exist in the DNS yet
a nearer set allows what the zone forbids | nsd bind | docs.team CNAME p1.edge.test. ; team CAA 0 issue "letsencrypt.org" ; @ CAA 0 issue "ca.example" | docs.team | right - CNAME docs.team |
a nearer set forbids what the zone allows | nsd bind | docs.team CNAME p1.edge.test. ; team CAA 0 issue "ca.example" ; @ CAA 0 issue "letsencrypt.org" | docs.team | wrong caa_blocks CNAME docs.team | team.{z}
the level above is an alias of a set that forbids | nsd bind | docs.team CNAME p1.edge.test. ; team CNAME other ; other CAA 0 issue "ca.example" | docs.team | wrong caa_blocks CNAME docs.team | other.{z}
the level above is an alias loop | nsd bind | docs.team CNAME p1.edge.test. ; team CNAME team | docs.team | unknown caa_unknown CNAME docs.team | does not lead back to itself
a set has twenty records | nsd bind | ${right} ; ${Array.from({ length: 20 }, (_, i) => `@ CAA 0 issue "ca${i}.example"`).join(' ; ')} | docs | wrong caa_blocks CNAME docs | letsencrypt.org
a set is as large as a message | nsd knot | ${right} ; @ CAA 0 issue "letsencrypt.org" ; ${Array.from({ length: 30 }, (_, i) => `@ CAA 0 x${i} "${'y'.repeat(200)}"`).join(' ; ')} | docs | right - CNAME docs |
a set is larger than one check reads | nsd | ${right} ; ${Array.from({ length: 80 }, (_, i) => `@ CAA 0 x${i} "${'y'.repeat(230)}"`).join(' ; ')} | docs | unknown caa_unknown CNAME docs | because of our limits for one check
`,
);
