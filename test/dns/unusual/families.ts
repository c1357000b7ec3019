/** All cases, by family. */
import type { Case } from './case.ts';
import { bogusAndWrong } from './cases/bogus-and-wrong.ts';
import { caa } from './cases/caa.ts';
import { caaDiffers } from './cases/caa-differs.ts';
import { delegations } from './cases/delegations.ts';
import { denials } from './cases/denials.ts';
import { failingServers } from './cases/failing-servers.ts';
import { loops } from './cases/loops.ts';
import { manyServers } from './cases/many-servers.ts';
import { ourSide } from './cases/our-side.ts';
import { programs } from './cases/programs.ts';
import { values } from './cases/values.ts';
import { zoneCuts } from './cases/zone-cuts.ts';

export const families: Readonly<Record<string, readonly Case[]>> = {
  'zones within zones': zoneCuts,
  'more than four servers': manyServers,
  'CNAME loops': loops,
  'CAA records that differ between servers': caaDiffers,
  CAA: caa,
  'each program': programs,
  'failing servers': failingServers,
  delegations,
  'values of records': values,
  'negative answers that do not validate': denials,
  'bad signatures and a wrong record': bogusAndWrong,
  'our own side': ourSide,
};
