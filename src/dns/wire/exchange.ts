/**
 * A question as it was sent, and which bytes count as its answer (RFC 5452, 9.1). Its letters are in random case
 * (draft-vixie-dnsext-dns0x20): servers repeat it as it came, so whoever forges an answer must guess them beside id and port.
 */

import { randomFillSync } from 'node:crypto';
import ipaddr from 'ipaddr.js';
import type { SocketAddress } from '../../config/config.ts';
import {
  decodeMessage,
  encodeQuestion,
  HEADER_OCTETS,
  type Message,
  type Question,
  rcodes,
} from './message.ts';
import { MalformedMessage } from './reader.ts';
import { OPT_OCTETS } from './records.ts';

/**
 * What came of a question; whatever the network does is a value. `rttMs` counts from the first message sent, rounded to
 * tenths. `responded`: the server did say something, but never the whole answer. `cutOff`: our own limits ended it, which
 * says nothing about the server. `malformed`: it answered our question
 * with something unreadable. `not_asked`: this host could not send it, for want of a route, say, which says nothing
 * about the server.
 */
export type WireAnswer =
  | {
      readonly kind: 'response';
      readonly message: Message;
      readonly via: 'udp' | 'tcp';
      readonly rttMs: number;
    }
  | { readonly kind: 'timeout'; readonly responded?: true; readonly cutOff?: true }
  | { readonly kind: 'malformed' }
  | { readonly kind: 'not_asked' };

/** A question as it was sent; what arrives is compared with its bytes. */
export type Exchange = {
  readonly id: number;
  /** The whole message as it is sent over UDP, without the length that TCP puts before it. */
  readonly encoded: Buffer;
  /** Where the question section ends in it; behind it is at most our OPT record. */
  readonly questionEnd: number;
  readonly edns: boolean;
  /** Whether the letters of its name are in random case, so that the answer must repeat them. */
  readonly mixedCase: boolean;
};

/** How a question is sent. `id` is 0 to 65535. */
export type ExchangeOptions = {
  readonly id: number;
  readonly edns: boolean;
  /** Where the letters' case comes from; null: all of them lower case. */
  readonly random16: (() => number) | null;
};

/** Encodes a question once. Throws RangeError for a name that cannot be asked. */
export function newExchange(question: Question, { id, edns, random16 }: ExchangeOptions): Exchange {
  const encoded = encodeQuestion(question, id, edns);
  const questionEnd = edns ? encoded.length - OPT_OCTETS : encoded.length;
  // The question ends with its type and class, two octets each.
  const nameEnd = questionEnd - 4;
  if (random16 === null) lowerCase(encoded, HEADER_OCTETS, nameEnd);
  else mixCase(encoded, HEADER_OCTETS, nameEnd, random16);
  return { id, encoded, questionEnd, edns, mixedCase: random16 !== null };
}

/** Returns the exchange without its OPT record. Id, question and case stay, so that an answer to either counts for both. */
export function withoutEdns(exchange: Exchange): Exchange {
  const encoded = Buffer.from(exchange.encoded.subarray(0, exchange.questionEnd));
  encoded.writeUInt16BE(0, 10); // no additional record
  return { ...exchange, encoded, edns: false };
}

/**
 * Whether a response says that the server is too old for EDNS, or for this question: FORMERR (RFC 6891, 7), or NOTIMP as
 * some say instead.
 */
export function isTooOld(bytes: Buffer): boolean {
  const rcode = bytes.readUInt8(3) & 0x0f;
  return rcode === rcodes.FORMERR || rcode === rcodes.NOTIMP;
}

/** Whether the rest of the response is to be fetched over TCP (RFC 1035, 4.1.1). */
export function isTruncated(bytes: Buffer): boolean {
  return (bytes.readUInt8(2) & 0x02) !== 0;
}

/** Whether these bytes are a response with the id and the question that were sent, letter by letter. */
export function isAnswer(bytes: Buffer, exchange: Exchange): boolean {
  return matches(bytes, exchange, isSame);
}

/** As `isAnswer`, in whatever case the name comes back: enough over TCP, where nobody can slip in an answer unseen. */
export function isAnswerInAnyCase(bytes: Buffer, exchange: Exchange): boolean {
  return matches(bytes, exchange, isSameInAnyCase);
}

function matches(bytes: Buffer, exchange: Exchange, isSameQuestion: typeof isSame): boolean {
  const { id, encoded, questionEnd } = exchange;
  if (bytes.length < HEADER_OCTETS || bytes.readUInt16BE(0) !== id) return false;
  if ((bytes.readUInt8(2) & 0x80) === 0) return false;
  const questions = bytes.readUInt16BE(4);
  // Old servers say so with the header alone.
  if (questions === 0) return isTooOld(bytes);
  if (questions !== 1 || bytes.length < questionEnd) return false;
  // Byte by byte on the wire, so no two names can be confused.
  return isSameQuestion(bytes, encoded, HEADER_OCTETS, questionEnd);
}

/** Decodes what `isAnswer` has accepted. Bytes that cannot be read are `malformed`; it never throws for them. */
export function readAnswer(bytes: Buffer, via: 'udp' | 'tcp', rttMs: number): WireAnswer {
  try {
    return { kind: 'response', message: decodeMessage(bytes), via, rttMs: tenths(rttMs) };
  } catch (error) {
    if (error instanceof MalformedMessage) return { kind: 'malformed' };
    throw error;
  }
}

/** Returns the version of IP of a literal address. */
export function familyOf({ address }: SocketAddress): 4 | 6 {
  return address.includes(':') ? 6 : 4;
}

/** Returns the server as the operating system writes the source of a datagram, so that the two compare as text. */
export function asSource(server: SocketAddress): SocketAddress {
  if (familyOf(server) === 4) return server;
  return { address: ipaddr.parse(server.address).toString(), port: server.port };
}

/** A clock that shows microseconds pretends to know more than a network lets it. */
function tenths(ms: number): number {
  return Math.round(ms * 10) / 10;
}

/** Where a letter's case is in its byte. */
const CASE_BIT = 0x20;

/** Whether a byte is an ASCII letter; the length octets between labels, at most 63, never are. */
function isLetter(byte: number): boolean {
  const lower = byte | CASE_BIT;
  return lower >= 0x61 && lower <= 0x7a;
}

/** Gives the letters in `bytes` from `from` up to `to`, which is not included, the case that random bits say. In place. */
export function mixCase(bytes: Uint8Array, from: number, to: number, random16: () => number): void {
  // A one above the bits that are left says when to draw again.
  let bits = 1;
  for (let at = from; at < to; at++) {
    const byte = bytes[at] ?? 0;
    if (!isLetter(byte)) continue;
    if (bits === 1) bits = random16() | 0x1_0000;
    bytes[at] = (bits & 1) === 0 ? byte | CASE_BIT : byte & ~CASE_BIT;
    bits >>= 1;
  }
}

/** Gives the letters in `bytes` from `from` up to `to`, which is not included, lower case. In place. */
export function lowerCase(bytes: Uint8Array, from: number, to: number): void {
  for (let at = from; at < to; at++) {
    const byte = bytes[at] ?? 0;
    if (isLetter(byte)) bytes[at] = byte | CASE_BIT;
  }
}

/** Whether two stretches of a message, both from `from` up to `to`, are the same but for the case of letters. */
export function isSameInAnyCase(a: Uint8Array, b: Uint8Array, from: number, to: number): boolean {
  for (let at = from; at < to; at++) {
    const [one = -1, other = -1] = [a[at], b[at]];
    if (one !== other && !(isLetter(one) && (one ^ other) === CASE_BIT)) return false;
  }
  return true;
}

/** Whether two stretches of a message, both from `from` up to `to`, are the same byte by byte. */
export function isSame(a: Uint8Array, b: Uint8Array, from: number, to: number): boolean {
  for (let at = from; at < to; at++) if (a[at] !== b[at]) return false;
  return true;
}

/** Numbers drawn at once: one call for each would cost more than the numbers do. */
const BATCH = 2048;

/** Returns a source of numbers from 0 to 65535 that nobody can predict (RFC 5452, 9.2). */
export function createRandom16(): () => number {
  const batch = new Uint16Array(BATCH);
  let next = BATCH;
  return () => {
    if (next >= BATCH) {
      randomFillSync(batch);
      next = 0;
    }
    return batch[next++] ?? 0;
  };
}
