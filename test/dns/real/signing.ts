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
 * another key. `stripped`: a DS without signatures. `no_denials`: without NSEC records. `bad_denials`,
 * `bad_denials3`, `bad_caa`: the signatures of NSEC, NSEC3 or CAA records do not match.
 */
export type Signing =
  | 'well'
  | 'expired'
  | 'early'
  | 'ds_mismatch'
  | 'stripped'
  | 'no_denials'
  | 'bad_denials'
  | 'bad_denials3'
  | 'bad_caa';

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
  no_denials: ['-O', 'full'],
  bad_denials: ['-O', 'full'],
  bad_caa: ['-O', 'full'],
  bad_denials3: ['-O', 'full', '-3', '-', '-H', '0'],
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
        text: served(signing, text, await readFile(join(cwd, 'signed'), 'utf8')),
      },
      ds: await dsOf(cwd, owner),
      anchor,
    };
  } finally {
    await rm(cwd, { recursive: true, force: true });
  }
}

/** In the format `full`, each record is a line. */
function served(signing: Signing, text: string, signed: string): string {
  switch (signing) {
    case 'stripped':
      return text;
    case 'no_denials':
      return changed(signed, (line) => (/\sNSEC\s/.test(line) ? '' : line));
    case 'bad_denials':
    case 'bad_denials3':
      return changed(signed, (line) =>
        /\sIN\s+RRSIG\s+NSEC3?\s/.test(line) ? damaged(line) : line,
      );
    case 'bad_caa':
      return changed(signed, (line) => (/\sIN\s+RRSIG\s+CAA\s/.test(line) ? damaged(line) : line));
    default:
      return signed;
  }
}

function changed(signed: string, change: (line: string) => string): string {
  return signed.split('\n').map(change).join('\n');
}

/** Changes the first character of the signature, which follows the signer's name. */
function damaged(line: string): string {
  return line.replace(
    /\.(\s+)(\S)([^.]*)$/,
    (_, blank: string, first: string, rest: string) =>
      `.${blank}${first === 'A' ? 'B' : 'A'}${rest}`,
  );
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
