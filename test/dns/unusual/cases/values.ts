/** Records with a slip: in the value, in the name, or something else beside them. */
import { table } from '../table.ts';

const ours = '@ A 203.0.113.10 ; @ A 203.0.113.11 ; @ AAAA 2001:db8:1::10';
const chain = (length: number, end: string) =>
  Array.from(
    { length },
    (_, i) => `${i === 0 ? 'docs' : `c${i}`} CNAME ${i === length - 1 ? end : `c${i + 1}`}`,
  ).join(' ; ');

export const values = table(
  'value',
  `
*the value is the first label of the target | nsd bind | docs CNAME p1 | docs | wrong cname_mismatch CNAME docs | only the first part of the target: p1. Enter
the value is the first label with a dot | nsd bind | docs CNAME p1. | docs | wrong cname_mismatch CNAME docs | only the first part of the target: p1. Enter
the zone was appended to the target | nsd bind | docs CNAME p1.edge.test | docs | wrong cname_mismatch CNAME docs | dot
*the value has the end of the target twice | nsd bind | docs CNAME p1.edge.test.edge.test. | docs | wrong cname_mismatch CNAME docs | twice
one letter is wrong | nsd bind | docs CNAME p1.egde.test. | docs | wrong cname_mismatch CNAME docs | has “gd” instead of “dg”
the value is the target of another domain | nsd bind | docs CNAME p2.edge.test. | docs | wrong cname_mismatch CNAME docs | looks like the target of another domain
the value has a scheme | nsd nsd2 | docs CNAME https://p1.edge.test/. | docs | wrong cname_mismatch CNAME docs | Enter p1.edge.test alone
the record has the name of the zone twice | nsd bind | docs.{z} CNAME p1.edge.test. | docs | wrong record_missing CNAME docs | The record exists as docs.{z}.{z}
the record is at www of the name | nsd bind | www.docs CNAME p1.edge.test. | docs | wrong record_missing CNAME docs | The record is at www.docs.{z} instead
a text has the target | nsd bind | docs TXT "p1.edge.test" | docs | wrong record_missing CNAME docs | A TXT record has our target as its value
a subdomain has our address | nsd bind | docs A 203.0.113.10 | docs | wrong conflicting_a CNAME docs | when our addresses change
a name without the record has mail | nsd bind | docs MX 10 mx.edge.test. | docs | wrong record_missing +mail_at_name CNAME docs | First move the mail to another name
a name with an address has mail | nsd bind | docs A 198.51.100.7 ; docs MX 10 mx.edge.test. | docs | wrong conflicting_a +mail_at_name CNAME docs | receives mail (MX 10 mx.edge.test)
an alias leads here through another name | nsd bind | docs CNAME step ; step CNAME p1.edge.test. | docs | wrong cname_mismatch CNAME docs | It reaches p1.edge.test
a chain of nine names leads here | nsd bind | ${chain(9, 'p1.edge.test.')} | docs | wrong cname_mismatch CNAME docs | c1.{z}
a chain of thirty names leads here | nsd bind | ${chain(30, 'p1.edge.test.')} | docs | wrong cname_mismatch CNAME docs | c1.{z}
the CNAME leads to a missing name | nsd bind | docs CNAME gone.{z}. | docs | wrong cname_mismatch CNAME docs | points to gone.{z} instead of p1.edge.test
the CNAME leads to an unregistered domain | nsd bind | docs CNAME gone.nobody-has-it.test. | docs | wrong cname_mismatch CNAME docs | its value must be exactly p1.edge.test
*the apex points here and www is missing | nsd bind | ${ours} | www | wrong record_missing CNAME www | {z} points here already
the wildcard points here and the apex is missing | nsd bind | * CNAME p1.edge.test. | @ | wrong record_missing ALIAS @ | ALIAS @ → p1.edge.test
an apex has foreign addresses | nsd bind | @ A 198.51.100.7 | @ | wrong apex_elsewhere ALIAS @ | Delete these records of {z}: A 198.51.100.7
an apex has ours and a foreign address | nsd bind | ${ours} ; @ A 198.51.100.7 | @ | wrong apex_mixed ALIAS @ | 198.51.100.7
an apex has one of our addresses | nsd bind | @ A 203.0.113.10 | @ | right apex_partial ALIAS @ | 203.0.113.11
an apex has our A and a foreign AAAA | nsd bind | @ A 203.0.113.10 ; @ A 203.0.113.11 ; @ AAAA 2001:db8::bad | @ | wrong conflicting_aaaa ALIAS @ | 2001:db8::bad
an apex has only our IPv6 address | nsd bind | @ AAAA 2001:db8:1::10 | @ | right apex_partial ALIAS @ | 203.0.113.10
a subdomain has a foreign IPv6 address | nsd bind | docs AAAA 2001:db8::bad | docs | wrong conflicting_aaaa CNAME docs | 2001:db8::bad
an apex has no addresses | nsd bind | docs TXT "x" | @ | wrong record_missing ALIAS @ | points to a missing name resolves to nothing
an HTTPS record hints at another address | nsd knot | ${ours} ; @ HTTPS 1 . ipv4hint=198.51.100.7 | @ | right https_record_mismatch ALIAS @ | other addresses as hints
an HTTPS record leads to another name | nsd knot | ${ours} ; other A 198.51.100.7 ; @ HTTPS 0 other.{z}. | @ | right https_record_mismatch ALIAS @ | sends browsers to another host or port
an HTTPS record leads to another port | nsd knot | ${ours} ; @ HTTPS 1 . port=8443 | @ | right https_record_mismatch ALIAS @ | HTTPS 1 . port=8443
an HTTPS record leads here through another name | nsd knot | ${ours} ; www CNAME p1.edge.test. ; @ HTTPS 0 www.{z}. | @ | right - ALIAS @ |
an HTTPS record leads to our target | nsd knot | ${ours} ; @ HTTPS 0 p1.edge.test. | @ | right - ALIAS @ |
an HTTPS record leads to a missing name | nsd knot | ${ours} ; @ HTTPS 0 gone.{z}. | @ | right - ALIAS @ |
an HTTPS record says that there is no service | nsd knot | ${ours} ; @ HTTPS 0 . | @ | right https_record_mismatch ALIAS @ | says that the name has no website
an HTTPS record has an old ECH key | nsd knot | ${ours} ; @ HTTPS 1 . alpn=h2 ech="AEX+DQBB" | @ | right https_record_mismatch ALIAS @ | a key for Encrypted Client Hello that is not ours
an HTTPS record has our addresses | nsd knot | ${ours} ; @ HTTPS 1 . alpn=h2 ipv4hint=203.0.113.10 | @ | right - ALIAS @ |
a proxy is in front of the name | nsd bind | docs A 104.16.0.1 ; docs A 104.17.0.1 | docs | wrong conflicting_a +proxied CNAME docs | Delete the A records 104.16.0.1
mail beside the CNAME is hidden by PowerDNS | pdns | docs CNAME p1.edge.test. ; docs MX 10 mx.edge.test. | docs | right - CNAME docs |
an address beside the CNAME is hidden by PowerDNS | pdns | docs CNAME p1.edge.test. ; docs A 198.51.100.7 | docs | right - CNAME docs |
the apex has a CNAME | pdns | @ CNAME p1.edge.test. | @ | wrong cname_at_apex ALIAS @ | not allowed there
the record differs between two servers | nsd knot | nsd: docs CNAME p1.edge.test. ; knot: docs A 198.51.100.7 | docs | wrong name_servers_disagree CNAME docs | A 198.51.100.7
the zone is written in upper case | nsd bind | DOCS CNAME P1.Edge.TEST. | docs | right - CNAME docs |
`,
);
