/** Delegations: missing, parked, or different from the zone's own. */
import { table } from '../table.ts';

const ours = '@ A 203.0.113.10 ; @ A 203.0.113.11 ; @ AAAA 2001:db8:1::10';
const right = 'docs CNAME p1.edge.test.';

export const delegations = table(
  'cuts',
  `
*the domain is unregistered | | | docs | wrong domain_unregistered CNAME docs | is not on hold: many registries remove such domains
the domain has no name servers | | @parent: {z}. TXT "reserved" | docs | wrong no_name_servers CNAME docs | exists at its registry, but has no name servers
the domain has no name servers and the name is its apex | | @parent: {z}. TXT "reserved" | @ | wrong no_name_servers ALIAS @ | At your registrar, enter the name servers
the registry holds the record | | @parent: docs.{z}. CNAME p1.edge.test. | docs | right - CNAME docs |
no name server has an address | nameless*2 | ${right} | docs | unknown name_server_unreachable CNAME docs | None of the name servers
one of two name servers has no address | nsd nameless | ${right} | docs | right name_server_unreachable CNAME docs | At your registrar, remove the name server a.nameless.test
*the name of a name server is an alias | nsd x.alias.bind.test | ${right} | docs | right name_server_unreachable CNAME docs | or enter a name that has public addresses
the names of all name servers are aliases | x.alias.nsd.test x.alias.bind.test | ${right} | docs | unknown name_server_unreachable CNAME docs | is an alias (CNAME)
its name servers are in the zone itself | ns1.nsd.{z} ns2.bind.{z} | ${right} ; ns1.nsd A 127.0.1.2 ; ns2.bind A 127.0.0.1 | docs | right - CNAME docs |
*the address of a name server is another one at the registry | ns1.nsd.{z} ns2.bind.{z} | ${right} ; ns1.nsd A 127.0.1.3 ; ns2.bind A 127.0.0.1 | docs | right glue_mismatch CNAME docs | At your registrar, change the address of the name server ns1.nsd.{z}
a name server has a further address in the zone | ns1.nsd.{z} ns2.bind.{z} | ${right} ; ns1.nsd A 127.0.1.2 ; ns1.nsd A 127.0.1.3 ; ns2.bind A 127.0.0.1 | docs | right - CNAME docs |
a name server in the zone has no glue | ns1.nsd.{z} ns9.nameless.{z} | ${right} ; ns1.nsd A 127.0.1.2 | docs | right name_server_unreachable CNAME docs | remove the name server ns9.nameless.{z}
no name server in the zone has glue | ns1.nameless.{z} ns2.nameless.{z} | | docs | unknown name_server_unreachable CNAME docs | also needs its address there (glue)
a name server in the zone has no address there | ns1.nsd.{z} ns2.knot.{z} | ${right} ; ns2.knot A 127.0.1.5 | docs | right - CNAME docs |
*the zone lists more name servers | nsd | ${right} ; @zone: a.nsd.test a.bind.test | docs | right delegation_mismatch CNAME docs | Only at your registrar: none
the zone lists name servers that lack it | nsd bind!unknown | ${right} ; @zone: a.nsd.test a.bind.test b.bind.test | docs | right name_server_lame +delegation_mismatch CNAME docs | b.bind.test
a move to another provider is not finished | nsd | bind: docs CNAME p1.edge.test. ; @zone: a.bind.test | docs | wrong name_servers_disagree +delegation_mismatch CNAME docs | different DNS providers
only the old provider has the record | nsd | nsd: docs CNAME p1.edge.test. ; @zone: a.nsd.test a.bind.test | docs | wrong name_servers_disagree CNAME docs | a.bind.test
NS records at the name list servers without it | nsd | docs NS a.bind.test. | docs | unknown name_server_lame ALIAS @ | delete the NS records
NS records at the name list dead servers | nsd | docs NS a.dead.test. | docs | unknown dns_unknown ALIAS @ | NS records in {z}
NS records at the name list servers without an address | nsd | docs NS ns1.nowhere.test. | docs | unknown name_server_unreachable ALIAS @ | correct those NS records
NS records above the name list servers without it | nsd | team NS a.bind.test. | docs.team | unknown name_server_lame CNAME docs | At the DNS provider of {z}, check that these are
three of five servers are dead                    | nsd bind dead*3 | ${right} | docs | right name_server_unreachable CNAME docs | are unreachable
six servers of four programs are alike | nsd*2 bind*2 knot pdns | ${ours} | @ | right - ALIAS @ |
*the domain is parked | ns1.parkingcrew.net ns2.parkingcrew.net | * A 198.51.100.7 | docs | wrong domain_parked CNAME docs | is parked
the domain is parked and the name is its apex | ns1.parkingcrew.net ns2.parkingcrew.net | @ A 198.51.100.7 | @ | wrong domain_parked ALIAS @ | name servers of the provider
the domain has expired | ns1.expirationwarning.net | * A 198.51.100.7 | docs | wrong domain_parked CNAME docs | Renew {z} at your registrar
the domain is parked at servers that refuse | ns1.front.parkingcrew.net:refuses | | docs | wrong domain_parked CNAME docs | is parked
the domain is parked at servers that are silent | ns1.dead.parkingcrew.net ns2.dead.parkingcrew.net | | docs | wrong domain_parked CNAME docs | is parked
a name at a parking provider points here | ns1.parkingcrew.net | ${right} | docs | right - CNAME docs |
the zone is signed | signed nsd bind | ${right} | docs | right - CNAME docs |
a signed zone lacks the record | signed nsd knot | | docs | wrong record_missing CNAME docs | does not exist in the DNS yet
a signed zone has a wildcard | signed nsd knot | * CNAME p1.edge.test. | docs | right wildcard_answers CNAME docs | *.{z}
`,
);
