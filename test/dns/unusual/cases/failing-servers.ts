/** Servers that are silent, slow or lame, refuse, fail, or answer over one transport only. */
import { table } from '../table.ts';

const ours = '@ A 203.0.113.10 ; @ A 203.0.113.11 ; @ AAAA 2001:db8:1::10';
const right = 'docs CNAME p1.edge.test.';

export const failingServers = table(
  'sick',
  `
answers over UDP are always truncated: right        | front:truncates | ${right} | docs | right - CNAME docs |
answers over UDP are always truncated: missing      | front*2:truncates | | docs | wrong record_missing CNAME docs | does not exist in the DNS yet
answers over UDP are always truncated: an apex      | front:truncates bind | ${ours} | @ | right - ALIAS @ |
answers over UDP are always truncated: CAA forbids  | front:truncates | ${right} ; @ CAA 0 issue "ca.example" | docs | wrong caa_blocks CNAME docs | letsencrypt.org
only CAA answers are truncated            | front:truncates_caa | ${right} ; @ CAA 0 issue "letsencrypt.org" | docs | right - CNAME docs |
answers come over TCP only: right                 | front:tcp_only | ${right} | docs | right - CNAME docs |
answers come over TCP only: elsewhere             | front*2:tcp_only | docs A 198.51.100.7 | docs | wrong conflicting_a CNAME docs | Delete the A record 198.51.100.7
answers come over TCP only: an apex               | front:tcp_only | ${ours} | @ | right - ALIAS @ |
answers come over UDP only                        | front:udp_only bind | ${right} | docs | right - CNAME docs |
answers are late                              | front:slow bind | ${right} | docs | right - CNAME docs |
every answer of both servers is late              | front*2:slow | docs A 198.51.100.7 | docs | wrong conflicting_a CNAME docs | Delete the A record
one of two servers is silent                      | front:drops bind | ${right} | docs | right name_server_unreachable CNAME docs | ask your DNS provider about this server
both servers are silent | front*2:drops | ${right} | docs | unknown dns_unknown CNAME docs | ask that provider why they do not answer
all servers are dead | dead*2 | ${right} | docs | unknown dns_unknown CNAME docs | check that these are the name servers of the provider
one of two servers refuses                        | front:refuses bind | ${right} | docs | right name_server_lame CNAME docs | does not serve it
all servers refuse                                | front*2:refuses | ${right} | docs | unknown name_server_lame +dns_unknown CNAME docs | check that these are the name servers of the provider where
one of two servers fails                          | front:fails bind | ${right} | docs | right name_server_lame CNAME docs | the server failed (SERVFAIL)
all servers fail                                  | front*2:fails | ${right} | docs | unknown dns_unknown CNAME docs | ask your DNS provider why these servers fail
*one of two servers never received the zone        | nsd bind!not_received | ${right} | docs | right name_server_lame CNAME docs | often the zone was never received there
*one of two servers does not have the zone     | nsd bind!unknown | ${right} | docs | right name_server_lame CNAME docs | enter the right name servers
no server has the zone              | nsd!unknown bind!unknown | ${right} | docs | unknown name_server_lame +dns_unknown CNAME docs | If they are, add {z} there
no server implements queries                     | front:not_implemented | ${right} | docs | unknown dns_unknown CNAME docs | ask your DNS provider
one of two servers is dead                        | nsd dead | ${right} | docs | right name_server_unreachable CNAME docs | Nothing to change now: some servers answer
A is right and AAAA fails at an apex | front:fails_aaaa | ${ours} | @ | unknown dns_unknown ALIAS @ | fail for AAAA records
AAAA queries get no answer at an apex | front:drops_aaaa | ${ours} | @ | unknown dns_unknown ALIAS @ | fail for AAAA records
AAAA is right and A fails at an apex              | front:fails_a | ${ours} | @ | unknown dns_unknown ALIAS @ | ask your DNS provider why these servers fail
AAAA does not exist though A does                 | front:denies_aaaa | @ A 203.0.113.10 ; @ A 203.0.113.11 | @ | right - ALIAS @ |
CAA queries get no answer                | front:drops_caa | ${right} | docs | unknown caa_unknown CNAME docs | Ask the DNS provider of {z}
CAA queries fail                            | front:fails_caa | ${right} | docs | unknown caa_unknown CNAME docs | Ask the DNS provider of {z}
CAA queries fail at one of two servers      | front:fails_caa bind | ${right} | docs | right - CNAME docs |
CAA queries are refused                     | front:refuses_caa | ${right} | docs | unknown caa_unknown CNAME docs | refused to answer
CAA queries are not implemented             | front:not_implemented_caa | ${right} | docs | unknown caa_unknown CNAME docs | type 257
queries with EDNS get no answer              | front:drops_edns | ${right} | docs | right - CNAME docs |
a server too old for EDNS                         | front:no_edns | ${right} | docs | right - CNAME docs |
queries with EDNS fail                          | front:fails_edns | ${right} | docs | unknown dns_unknown CNAME docs | but only for simple queries
names do not exist for queries with EDNS        | front:denies_edns | ${right} | docs | wrong record_missing CNAME docs | but only for simple queries
queries in upper case get no answer              | front:drops_upper_case | ${right} | docs | right - CNAME docs |
queries in upper case fail                          | front:fails_upper_case | ${right} | docs | unknown dns_unknown CNAME docs | but only for simple queries
queries in upper case are refused                   | front:refuses_upper_case | ${right} | docs | unknown name_server_lame CNAME docs | but only for simple queries
queries in upper case do not exist                  | front:denies_upper_case | ${right} | docs | wrong record_missing CNAME docs | but only for simple queries
one of two servers denies every name              | front:denies bind | ${right} | docs | wrong name_servers_disagree CNAME docs | no such name
one of four servers denies every name             | front:denies bind nsd knot | ${right} | docs | wrong name_servers_disagree CNAME docs | no such name
one of two servers denies a name that has others  | front:denies bind | docs TXT "x" | docs | wrong record_missing CNAME docs | exists in the DNS
`,
);
