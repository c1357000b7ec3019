import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import {
  isAnswer,
  isAnswerInAnyCase,
  type QueryExchange,
  readAnswer,
} from '../../../src/dns/wire/exchange.ts';
import { decodeMessage, encodeQuestion, type Message } from '../../../src/dns/wire/message.ts';
import { MalformedMessage } from '../../../src/dns/wire/name.ts';
import { sizeOfRun } from '../../support/run.ts';
import { asked, hostname, id, mutatedPackets, originals, target } from './mutations.ts';
import { namesByHand } from './names-by-hand.ts';

/** They take tens of seconds on a busy machine. */
vi.setConfig({ testTimeout: 300_000 });

const PACKETS = sizeOfRun({ quick: 20_000, long: 100_000 });

/** The query as sent, without EDNS; encoded by hand to keep its case fixed. */
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

/** A name of ours is decoded exactly where its labels are in the bytes. */
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

/** Whether it is a response with the right ID, QR and question. */
function isOurs(bytes: Buffer): boolean {
  const taken = isAnswer(bytes, exchange);
  if (!taken) return false;
  const headerOnly = bytes.readUInt16BE(4) === 0 && [1, 4].includes(bytes.readUInt8(3) & 0x0f);
  const section = bytes.subarray(12, 12 + questionSection.length);
  const right =
    bytes.readUInt16BE(0) === id &&
    bytes.readUInt8(2) >= 0x80 &&
    (headerOnly || (bytes.readUInt16BE(4) === 1 && section.equals(questionSection)));
  if (!right) throw new Error(`accepted as a response: ${bytes.toString('hex')}`);
  return isAnswerInAnyCase(bytes, exchange);
}

describe('mutated responses', () => {
  it('are decoded correctly or rejected, and none to another query is accepted', () => {
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
        // The check above has already found the target's labels in this record.
        const aliases = message?.answers.filter(({ type }) => type === 'CNAME') ?? [];
        if (aliases.some((record) => 'target' in record && record.target === target)) seen.alias++;
      }),
      { numRuns: PACKETS },
    );
    // Fewer would mean that the mutations are too strong or too weak.
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(PACKETS / 50);
  });

  it('have originals that are decoded unchanged', () => {
    for (const bytes of originals) {
      expect(isAnswer(bytes, exchange)).toBe(true);
      namesAreTrue(bytes, decodeMessage(bytes));
    }
  });
});
