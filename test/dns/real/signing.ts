/** Signs zones with BIND's tools, correctly or not. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { ServedZone } from '../../support/name-servers.ts';
import { findProgram, missing, type ProgramName } from '../../support/programs.ts';

/**
 * `expired`, `early`: the signatures are outside their validity. `ds_mismatch`: the DS is for
 * another key. `stripped`: a DS without signatures.
 */
export type Signing = 'well' | 'expired' | 'early' | 'ds_mismatch' | 'stripped';

export type SignedZone = {
  readonly zone: ServedZone;
  /** DS records of the zone in presentation format, for its parent. */
  readonly ds: readonly string[];
  readonly anchor: string;
};

/** The validity period; dnssec-signzone's default is one month from now. -P skips verification. */
const validity: { readonly [S in Signing]: readonly string[] } = {
  well: [],
  expired: ['-P', '-s', '20240101000000', '-e', '20240201000000'],
  early: ['-P', '-s', 'now+86400', '-e', 'now+172800'],
  ds_mismatch: [],
  stripped: [],
};

/** Signs a zone with a new key. Throws if the tools are missing or fail. */
export async function sign(
  { name, serial, text }: ServedZone,
  signing: Signing,
): Promise<SignedZone> {
  if (text === null) throw new Error(`${name} has no text to sign`);
  const cwd = await mkdtemp(join(tmpdir(), 'signpost-signing-'));
  try {
    const key = await newKey(cwd, name);
    const anchor = await readFile(join(cwd, `${key}.key`), 'utf8');
    await writeFile(join(cwd, 'zone'), text + anchor);
    const how = ['-q', '-z', '-o', name, ...validity[signing], '-f', 'signed', 'zone', key];
    await runProgram('dnssec-signzone', how, cwd);
    const owner = signing === 'ds_mismatch' ? await newKey(cwd, name) : key;
    return {
      zone: {
        name,
        serial,
        text: signing === 'stripped' ? text : await readFile(join(cwd, 'signed'), 'utf8'),
      },
      ds: await dsOf(cwd, owner),
      anchor,
    };
  } finally {
    await rm(cwd, { recursive: true, force: true });
  }
}

async function newKey(cwd: string, zone: string): Promise<string> {
  const options = ['-q', '-f', 'KSK', '-a', 'ECDSAP256SHA256', zone];
  return (await runProgram('dnssec-keygen', options, cwd)).trim();
}

async function dsOf(cwd: string, key: string): Promise<string[]> {
  const printed = await runProgram('dnssec-dsfromkey', ['-2', `${key}.key`], cwd);
  return printed.split('\n').filter((line) => line !== '');
}

async function runProgram(
  name: ProgramName,
  args: readonly string[],
  cwd: string,
): Promise<string> {
  const program = findProgram(name);
  if (program === undefined) throw new Error(missing(name) ?? name);
  return (await promisify(execFile)(program, args, { cwd })).stdout;
}
