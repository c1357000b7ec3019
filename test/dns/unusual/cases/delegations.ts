/** Delegations: missing, parked, or different from the zone's own. */
import { table } from '../table.ts';

const ours = '@ A 203.0.113.10 ; @ A 203.0.113.11 ; @ AAAA 2001:db8:1::10';
const right = 'docs CNAME p1.edge.test.';

export const delegations = table(
  'cuts',
  `
*the domain is unregistered | | | docs | wrong domain_unregistered CNAME docs | does not exist in its registry
one of two name servers has no address | nsd nameless | ${right} | docs | right name_server_unreachable CNAME docs | its name has no address
its name servers are in the zone itself | ns1.nsd.{z} ns2.bind.{z} | ${right} ; ns1.nsd A 127.0.1.2 ; ns2.bind A 127.0.0.1 | docs | right - CNAME docs |
a name server in the zone has no address there | ns1.nsd.{z} ns2.knot.{z} | ${right} ; ns2.knot A 127.0.1.5 | docs | right - CNAME docs |
*the zone lists more name servers | nsd | ${right} ; @zone: a.nsd.test a.bind.test | docs | right delegation_mismatch CNAME docs | Only at your registrar: none
the zone lists name servers that lack it | nsd bind!unknown | ${right} ; @zone: a.nsd.test a.bind.test b.bind.test | docs | right name_server_lame +delegation_mismatch CNAME docs | b.bind.test
a move to another provider is not finished | nsd | bind: docs CNAME p1.edge.test. ; @zone: a.bind.test | docs | wrong name_servers_disagree +delegation_mismatch CNAME docs | different DNS providers
only the old provider has the record | nsd | nsd: docs CNAME p1.edge.test. ; @zone: a.nsd.test a.bind.test | docs | wrong name_servers_disagree CNAME docs | a.bind.test
three of five servers are dead                    | nsd bind dead*3 | ${right} | docs | right name_server_unreachable CNAME docs | are unreachable
six servers of four programs are alike | nsd*2 bind*2 knot pdns | ${ours} | @ | right - ALIAS @ |
*the domain is parked | ns1.parkingcrew.net ns2.parkingcrew.net | * A 198.51.100.7 | docs | wrong domain_parked CNAME docs | is parked
the domain is parked and the name is its apex | ns1.parkingcrew.net ns2.parkingcrew.net | @ A 198.51.100.7 | @ | wrong domain_parked ALIAS @ | name servers of the provider
the domain has expired | ns1.expirationwarning.net | * A 198.51.100.7 | docs | wrong domain_parked CNAME docs | Renew {z} at your registrar
a name at a parking provider points here | ns1.parkingcrew.net | ${right} | docs | right - CNAME docs |
the zone is signed | signed nsd bind | ${right} | docs | right - CNAME docs |
a signed zone lacks the record | signed nsd knot | | docs | wrong record_missing CNAME docs | does not exist in the DNS yet
a signed zone has a wildcard | signed nsd knot | * CNAME p1.edge.test. | docs | right wildcard_answers CNAME docs | *.{z}
`,
);
