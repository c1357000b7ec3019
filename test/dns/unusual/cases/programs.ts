/** The same zones at NSD, BIND, Knot and PowerDNS, which must all come to the same. */
import { table } from '../table.ts';

export const programs = table(
  'same',
  `
*the record is right                      | each | docs CNAME p1.edge.test. | docs | right - CNAME docs |
the record is missing                     | each | other A 198.51.100.7 | docs | wrong record_missing CNAME docs | does not exist in the DNS yet
the name has only a text | each | docs TXT "x" | docs | wrong record_missing CNAME docs | first delete other records of exactly the name
the CNAME leads elsewhere | each | docs CNAME other.edge.test. | docs | wrong cname_mismatch CNAME docs | CNAME docs → other.edge.test
addresses of both families block the CNAME | each | docs A 198.51.100.7 ; docs AAAA 2001:db8::7 | docs | wrong conflicting_a +conflicting_aaaa CNAME docs | Delete the A record 198.51.100.7
a wildcard points here | each | * CNAME p1.edge.test. | docs | right wildcard_answers CNAME docs | *.{z}
a wildcard leads elsewhere | each | * A 198.51.100.7 | docs | wrong conflicting_a CNAME docs | It takes precedence over *.{z}
*a wildcard does not apply to the name | each | * CNAME p1.edge.test. ; docs TXT "x" | docs | wrong record_missing CNAME docs | *.{z}
the name is an empty non-terminal | each | a.docs TXT "x" | docs | wrong record_missing CNAME docs | or names below it
a DNAME is above the name | each | team DNAME elsewhere.test. | docs.team | wrong cname_mismatch CNAME docs.team | Delete the DNAME record of team.{z}
a CAA record forbids | each | docs CNAME p1.edge.test. ; @ CAA 0 issue "ca.example" | docs | wrong caa_blocks CNAME docs | 0 issue "letsencrypt.org"
an apex points here | each | @ A 203.0.113.10 ; @ A 203.0.113.11 ; @ AAAA 2001:db8:1::10 | @ | right - ALIAS @ |
`,
);
