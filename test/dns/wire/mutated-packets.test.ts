import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import {
  isAnswer,
  isAnswerInAnyCase,
  type QueryExchange,
  readAnswer,
} from '../../../src/dns/wire/exchange.ts';
import { decodeMessage, encodeQuestion, type Message } from '../../../src/dns/wire/message.ts';
import { MalformedMessage } from '../../../src/dns/wire/reader.ts';
import { sizeOfRun } from '../../support/run.ts';
import { asked, hostname, id, mutatedPackets, originals, target } from './mutations.ts';
import { namesByHand } from './names-by-hand.ts';

/** They take tens of seconds where the machine does much else meanwhile. */
vi.setConfig({ testTimeout: 300_000 });

const PACKETS = sizeOfRun({ quick: 20_000, long: 100_000 });

/** The question as it left, without EDNS; made by hand, as its case must not be random here. */
const encoded = encodeQuestion({ name: asked, type: 'CNAME', recursionDesired: false }, id, false);
const exchange: QueryExchange = {
  id,
  encoded,
  questionEnd: encoded.length,
  edns: false,
  mixedCase: true,
};
const questionSection = encoded.subarray(12);

function decoded(bytes: Buffer): Message | undefined {
  try {
    return decodeMessage(bytes);
  } catch (error) {
    if (error instanceof MalformedMessage) return undefined;
    throw error;
  }
}

/** A name of ours is read exactly where its labels stand, and nowhere else. */
function namesAreTrue(bytes: Buffer, message: Message): void {
  const records = [...message.answers, ...message.authority, ...message.additional];
  const byHand = namesByHand(bytes);
  expect(records.length).toBe(byHand.length);
  for (const [i, record] of records.entries()) {
    for (const name of [hostname, target]) {
      const labels = name.split('.');
      const { owner = [], alias = [] } = byHand[i] ?? {};
      const aliasOf = record.type === 'CNAME' ? record.target : undefined;
      const same = (record.name === name) === equal(owner, labels);
      const sameAlias = (aliasOf === name) === equal(alias, labels);
      if (!same || !sameAlias) throw new Error(`${name} in ${bytes.toString('hex')}`);
    }
  }
}

function equal(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((label, i) => label === b[i]);
}

/** Whether it is an answer; nothing is with another id, without QR, or to another question. */
function isOurs(bytes: Buffer): boolean {
  const taken = isAnswer(bytes, exchange);
  if (!taken) return false;
  const headerOnly = bytes.readUInt16BE(4) === 0 && [1, 4].includes(bytes.readUInt8(3) & 0x0f);
  const section = bytes.subarray(12, 12 + questionSection.length);
  const right =
    bytes.readUInt16BE(0) === id &&
    bytes.readUInt8(2) >= 0x80 &&
    (headerOnly || (bytes.readUInt16BE(4) === 1 && section.equals(questionSection)));
  if (!right) throw new Error(`taken for an answer: ${bytes.toString('hex')}`);
  return isAnswerInAnyCase(bytes, exchange);
}

describe('of many damaged answers', () => {
  it('all are read truly or refused, and none is taken that answers something else', () => {
    const seen = { malformed: 0, ours: 0, alias: 0 };
    fc.assert(
      fc.property(mutatedPackets, (bytes) => {
        const message = decoded(bytes);
        if (message === undefined) seen.malformed++;
        else namesAreTrue(bytes, message);
        if (!isOurs(bytes)) return;
        seen.ours++;
        const answer = readAnswer(bytes, 'udp', 1);
        expect(answer.kind).toBe(message === undefined ? 'malformed' : 'response');
        // That the labels of the target are there has been seen above, at the very record.
        const aliases = message?.answers.filter(({ type }) => type === 'CNAME') ?? [];
        if (aliases.some((record) => 'target' in record && record.target === target)) seen.alias++;
      }),
      { numRuns: PACKETS },
    );
    // Otherwise the damage is too great, or too small, to show anything.
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(PACKETS / 50);
  });

  it('and the answers they were made of are read as they are', () => {
    for (const bytes of originals) {
      expect(isAnswer(bytes, exchange)).toBe(true);
      namesAreTrue(bytes, decodeMessage(bytes));
    }
  });
});
