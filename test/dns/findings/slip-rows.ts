/** Slips that a value or a wildcard shows, and the words that name them. */
import { type Row, shop } from './row.ts';

const LONG = 'k3jw5xqm2c7rtzna.edge.test';
const typed = (code: string, text: string) => ({ hints: [{ code, typed: text }] });

export const slipRows: readonly Row[] = [
  {
    title: 'has a wildcard that leads here, which a text at the name keeps away',
    world: ['* CNAME p1.edge.test.', 'docs TXT "hello"'],
    verdict: 'wrong',
    codes: ['record_missing'],
    hint: 'wildcard_stops',
    evidence: { seen: 'nodata', hints: [{ code: 'wildcard_stops', wildcard: '*.shop.test' }] },
    words: ['*.shop.test leads here, but not for docs.shop.test', 'Create: CNAME docs'],
  },
  {
    title: 'has a wildcard that leads here, which a name below keeps away',
    world: ['* CNAME p1.edge.test.', 'old.docs A 198.51.100.7'],
    verdict: 'wrong',
    codes: ['record_missing'],
    evidence: { hints: [{ code: 'wildcard_stops', wildcard: '*.shop.test' }] },
    words: ['or names below it'],
  },
  {
    title: 'has the record at a wildcard below the name',
    world: ['*.docs CNAME p1.edge.test.'],
    verdict: 'wrong',
    codes: ['record_missing'],
    evidence: { hints: [{ code: 'wrong_host', name: '*.docs.shop.test' }] },
    words: ['The record stands at *.docs.shop.test instead of docs.shop.test'],
  },
  {
    title: 'has only the first part of the target as its value',
    world: ['docs CNAME p1'],
    verdict: 'wrong',
    codes: ['cname_mismatch'],
    hint: 'partial_target',
    evidence: { found: 'p1.shop.test', ...typed('partial_target', 'p1') },
    words: ['Only the first part of the value was entered: p1. Enter all of it: p1.edge.test'],
  },
  {
    title: 'has the end of the target twice',
    world: ['docs CNAME p1.edge.test.edge.test.'],
    verdict: 'wrong',
    codes: ['cname_mismatch'],
    hint: 'doubled_end',
    evidence: typed('doubled_end', 'p1.edge.test.edge.test'),
    words: ['The end of the value is there twice'],
  },
  {
    title: 'has one letter of the target wrong',
    world: ['docs CNAME k3jw5xqm2c7rtzma.edge.test.'],
    expected: { target: LONG },
    verdict: 'wrong',
    codes: ['cname_mismatch'],
    hint: 'misspelt_target',
    evidence: typed('misspelt_target', 'k3jw5xqm2c7rtzma.edge.test'),
    words: ['has “m” instead of “n” after “k3jw5xqm2c7rtz”', `Enter ${LONG}`],
  },
  {
    title: 'has the target of another domain',
    world: ['docs CNAME q8vn4ytd6h3bwzsa.edge.test.'],
    expected: { target: LONG },
    verdict: 'wrong',
    codes: ['cname_mismatch'],
    hint: 'other_target',
    evidence: typed('other_target', 'q8vn4ytd6h3bwzsa.edge.test'),
    words: ['looks like the target of another domain here', `that of docs.shop.test is ${LONG}`],
  },
  {
    title: 'has no record in the zone below the domain that it is in',
    hostname: 'docs.team.shop.test',
    world: shop([], { zones: { 'shop.test': { ns1: [] }, 'team.shop.test': { ns1: [] } } }),
    verdict: 'wrong',
    codes: ['record_missing'],
    evidence: { zone: 'team.shop.test' },
    words: ['Create: CNAME docs → p1.edge.test, TTL 3600, in the zone team.shop.test.'],
  },
];
