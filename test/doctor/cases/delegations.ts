/** Domains and their delegations: missing, parked, dead, or other ones than the zone's own. */
import { table } from '../table.ts';

const ours = '@ A 203.0.113.10 ; @ A 203.0.113.11 ; @ AAAA 2001:db8:1::10';
const right = 'docs CNAME p1.edge.test.';

export const delegations = table(
  'cuts',
  `
*a domain that nobody has registered              | | | docs | wrong domain_unregistered CNAME docs | does not exist at its registry
a domain without name servers                     | | @parent: {z}. TXT "reserved" | docs | wrong no_name_servers CNAME docs | has no name servers
a domain without name servers, at its apex        | | @parent: {z}. TXT "reserved" | @ | wrong no_name_servers ALIAS @ | At your registrar, enter the name servers
a domain whose records the registry holds         | | @parent: docs.{z}. CNAME p1.edge.test. | docs | right - CNAME docs |
name servers without an address                   | nameless*2 | ${right} | docs | unknown name_server_unreachable CNAME docs | None of the name servers
one of two name servers without an address        | nsd nameless | ${right} | docs | right name_server_unreachable CNAME docs | its name has no address
*a name server whose name is an alias             | nsd x.alias.bind.test | ${right} | docs | right name_server_unreachable CNAME docs | is an alias (CNAME)
name servers whose names are aliases              | x.alias.nsd.test x.alias.bind.test | ${right} | docs | unknown name_server_unreachable CNAME docs | is an alias (CNAME)
name servers in the zone itself                   | ns1.nsd.{z} ns2.bind.{z} | ${right} ; ns1.nsd A 127.0.1.2 ; ns2.bind A 127.0.0.1 | docs | right - CNAME docs |
addresses of name servers that differ in the zone | ns1.nsd.{z} ns2.bind.{z} | ${right} ; ns1.nsd A 127.0.1.3 ; ns2.bind A 127.0.0.1 | docs | right - CNAME docs |
name servers in the zone that it does not know    | ns1.nsd.{z} ns2.knot.{z} | ${right} ; ns2.knot A 127.0.1.5 | docs | right - CNAME docs |
*other name servers in the zone                   | nsd | ${right} ; @zone: a.nsd.test a.bind.test | docs | right delegation_mismatch CNAME docs | Only at your registrar: none
other name servers in the zone, which lack it     | nsd bind!unknown | ${right} ; @zone: a.nsd.test a.bind.test b.bind.test | docs | right name_server_lame +delegation_mismatch CNAME docs | b.bind.test
a move that is not finished                       | nsd | bind: docs CNAME p1.edge.test. ; @zone: a.bind.test | docs | wrong name_servers_disagree +delegation_mismatch CNAME docs | different DNS providers
the old provider still has the record             | nsd | nsd: docs CNAME p1.edge.test. ; @zone: a.nsd.test a.bind.test | docs | wrong name_servers_disagree CNAME docs | a.bind.test
NS records at the name, to servers without it     | nsd | docs NS a.bind.test. | docs | unknown name_server_lame ALIAS @ | delete the NS records
NS records at the name, to dead servers           | nsd | docs NS a.dead.test. | docs | unknown dns_unknown ALIAS @ | NS records in {z}
NS records at the name, to servers without a name | nsd | docs NS ns1.nowhere.test. | docs | unknown name_server_unreachable ALIAS @ | correct those NS records
NS records above the name, to servers without it  | nsd | team NS a.bind.test. | docs.team | unknown name_server_lame CNAME docs | team.{z}
three of five servers are dead                    | nsd bind dead*3 | ${right} | docs | right name_server_unreachable CNAME docs | cannot be reached
six servers, each of which differs in nothing     | nsd*2 bind*2 knot pdns | ${ours} | @ | right proof_on_adding ALIAS @ | TXT
*a parked domain                                  | ns1.parkingcrew.net ns2.parkingcrew.net | * A 198.51.100.7 | docs | wrong domain_parked CNAME docs | is parked
a parked domain, at its apex                      | ns1.parkingcrew.net ns2.parkingcrew.net | @ A 198.51.100.7 | @ | wrong domain_parked ALIAS @ | enter the name servers of the provider
an expired domain                                 | ns1.expirationwarning.net | * A 198.51.100.7 | docs | wrong domain_parked CNAME docs | Renew {z} at your registrar
a domain at a parking page that leads here        | ns1.parkingcrew.net | ${right} | docs | right - CNAME docs |
a signed zone                                     | signed nsd bind | ${right} | docs | right - CNAME docs |
a signed zone without the record                  | signed nsd knot | | docs | wrong record_missing CNAME docs | does not exist in the DNS yet
a signed zone with a wildcard                     | signed nsd knot | * CNAME p1.edge.test. | docs | right wildcard_answers CNAME docs | *.{z}
`,
);
