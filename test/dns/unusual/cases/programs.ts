/** The same zones at NSD, BIND, Knot and PowerDNS, which must all come to the same. */
import { table } from '../table.ts';

export const programs = table(
  'same',
  `
*the record is right                      | each | docs CNAME p1.edge.test. | docs | right - CNAME docs |
the record is missing                     | each | other A 198.51.100.7 | docs | wrong record_missing CNAME docs | does not exist in the DNS yet
a name with a text alone                  | each | docs TXT "x" | docs | wrong record_missing CNAME docs | first delete other records of exactly the name
a CNAME that leads elsewhere              | each | docs CNAME other.edge.test. | docs | wrong cname_mismatch CNAME docs | CNAME docs → other.edge.test
addresses of both kinds in the way        | each | docs A 198.51.100.7 ; docs AAAA 2001:db8::7 | docs | wrong conflicting_a +conflicting_aaaa CNAME docs | Delete the A record 198.51.100.7
a wildcard that leads here                | each | * CNAME p1.edge.test. | docs | right wildcard_answers CNAME docs | *.{z}
a wildcard that leads elsewhere           | each | * A 198.51.100.7 | docs | wrong conflicting_a CNAME docs | It takes precedence over *.{z}
*a wildcard that stops at the name        | each | * CNAME p1.edge.test. ; docs TXT "x" | docs | wrong record_missing CNAME docs | *.{z}
an empty non-terminal                     | each | a.docs TXT "x" | docs | wrong record_missing CNAME docs | or names below it
a DNAME above the name                    | each | team DNAME elsewhere.test. | docs.team | wrong cname_mismatch CNAME docs.team | Delete the DNAME record of team.{z}
a CAA record that forbids                 | each | docs CNAME p1.edge.test. ; @ CAA 0 issue "ca.example" | docs | wrong caa_blocks CNAME docs | 0 issue "letsencrypt.org"
an apex that leads here                   | each | @ A 203.0.113.10 ; @ A 203.0.113.11 ; @ AAAA 2001:db8:1::10 | @ | right - ALIAS @ |
`,
);
