/** What stands above, below and beside a record: aliases that others make, mail, hints of browsers, circles. */
import { OURS } from './internet.ts';
import { RIGHT, type Row, shop, twoServers } from './row.ts';

const mail = [RIGHT, 'docs MX 10 mx.other.test.'];
const apex = [`@ A ${OURS[0]}`, `@ A ${OURS[1]}`, `@ AAAA ${OURS[2]}`];

export const besideRows: readonly Row[] = [
  {
    title: 'has a DNAME record above the name',
    hostname: 'docs.team.shop.test',
    world: shop(['team DNAME other.test.', 'docs.team CNAME p1.edge.test.'], {
      zones: { 'other.test': { ns1: ['docs A 198.51.100.7'] } },
    }),
    verdict: 'wrong',
    codes: ['cname_mismatch'],
    hint: 'dname_above',
    evidence: {
      found: 'docs.other.test',
      hints: [{ code: 'dname_above', owner: 'team.shop.test', to: 'other.test' }],
    },
    words: [
      'The DNAME record of team.shop.test redirects every name below it to other.test',
      'Delete the DNAME record of team.shop.test',
      'then create: CNAME docs.team → p1.edge.test',
    ],
  },
  {
    title: 'is led in a circle by a DNAME record above it',
    hostname: 'docs.team.shop.test',
    world: ['team DNAME @', 'docs CNAME docs.team'],
    verdict: 'wrong',
    codes: ['cname_loop', 'cname_mismatch'],
    evidence: { hints: [{ code: 'dname_above', owner: 'team.shop.test' }] },
    words: ['Delete the DNAME record of team.shop.test'],
  },
  {
    title: 'has mail beside the record, which a few servers allow',
    world: twoServers(mail, mail),
    verdict: 'right',
    codes: ['mail_at_name'],
    evidence: { exchanges: ['10 mx.other.test'], beside: true },
    words: ['has MX records beside its CNAME record', 'delete the MX records of docs.shop.test'],
  },
  {
    title: 'is the www of an apex that leads here',
    hostname: 'www.shop.test',
    world: apex,
    verdict: 'wrong',
    codes: ['record_missing'],
    hint: 'apex_leads_here',
    evidence: { hints: [{ code: 'apex_leads_here', apex: 'shop.test' }] },
    words: ['shop.test leads here already, but that does not cover www.shop.test', 'CNAME www'],
  },
  {
    title: 'is the www of an apex that leads elsewhere',
    hostname: 'www.shop.test',
    world: ['@ A 198.51.100.7'],
    verdict: 'wrong',
    codes: ['record_missing'],
    evidence: { seen: 'nxdomain' },
    words: ['Create: CNAME www'],
  },
  {
    title: 'has an HTTPS record at its apex that hints at an old address',
    hostname: 'shop.test',
    world: [...apex, '@ HTTPS 1 . ipv4hint=198.51.100.7'],
    verdict: 'right',
    codes: ['https_elsewhere'],
    evidence: { records: ['HTTPS 1 . ipv4hint=198.51.100.7'] },
    words: [
      'sends browsers that read it elsewhere',
      'delete the HTTPS record (type 65) of shop.test',
    ],
  },
  {
    title: 'has an HTTPS record at its apex that leads to another name and port',
    hostname: 'shop.test',
    world: ['@ A 198.51.100.7', '@ HTTPS 1 old.test. port=8443 ipv6hint=2001:db8::7'],
    verdict: 'wrong',
    codes: ['apex_elsewhere', 'https_elsewhere'],
    about: 'https_elsewhere',
    evidence: { records: ['HTTPS 1 old.test port=8443 ipv6hint=2001:db8::7'] },
    words: ['HTTPS 1 old.test port=8443'],
  },
  {
    title: 'has a circle of aliases above it, where CAA records are looked for',
    hostname: 'docs.team.shop.test',
    world: ['docs.team CNAME p1.edge.test.', 'team CNAME crew', 'crew CNAME team'],
    verdict: 'unknown',
    codes: ['caa_unknown'],
    about: 'caa_unknown',
    actor: 'customer',
    evidence: { name: 'team.shop.test', endless: true },
    words: ['The CNAME record of team.shop.test leads in a circle', 'change its CNAME record'],
  },
  {
    title: 'has nothing at its apex, where an ALIAS that leads nowhere shows as little',
    hostname: 'shop.test',
    world: [RIGHT],
    verdict: 'wrong',
    codes: ['record_missing'],
    evidence: { seen: 'nodata' },
    words: ['If it is there already, check its value: an ALIAS to a name that does not exist'],
  },
];
