/**
 * Which bytes count as a query's answer (RFC 5452, 9.1). Its letters have random case
 * (draft-vixie-dnsext-dns0x20), so a forged answer must guess it in addition to ID and port.
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
import { MalformedMessage } from './name.ts';
import { OPT_OCTETS } from './records.ts';

/**
 * Network failures are values. `rttMs` starts at the first message. `responded`: the server sent
 * something, but not a whole answer. `cutOff`: our own limits ended the wait. `not_asked`: this host
 * failed to send. Both say nothing about the server.
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

export type QueryExchange = {
  readonly id: number;
  /** Without the length prefix of TCP. */
  readonly encoded: Buffer;
  /** Only our OPT record can follow. */
  readonly questionEnd: number;
  readonly edns: boolean;
  /** Whether the answer must repeat the random case. */
  readonly mixedCase: boolean;
};

export type ExchangeOptions = {
  readonly id: number;
  readonly edns: boolean;
  /** Source of the random case; null: lower case. */
  readonly random16: (() => number) | null;
};

/** Throws RangeError for an invalid name. */
export function newExchange(
  question: Question,
  { id, edns, random16 }: ExchangeOptions,
): QueryExchange {
  const encoded = encodeQuestion(question, id, edns);
  const questionEnd = edns ? encoded.length - OPT_OCTETS : encoded.length;
  // The question ends with type and class, two octets each.
  const nameEnd = questionEnd - 4;
  if (random16 === null) lowerCase(encoded, HEADER_OCTETS, nameEnd);
  else mixCase(encoded, HEADER_OCTETS, nameEnd, random16);
  return { id, encoded, questionEnd, edns, mixedCase: random16 !== null };
}

/** ID, question and case stay, so an answer to either counts for both. */
export function withoutEdns(exchange: QueryExchange): QueryExchange {
  const encoded = Buffer.from(exchange.encoded.subarray(0, exchange.questionEnd));
  encoded.writeUInt16BE(0, 10); // no additional record
  return { ...exchange, encoded, edns: false };
}

/** FORMERR (RFC 6891, 7), or NOTIMP from some servers. */
export function isTooOld(bytes: Buffer): boolean {
  const rcode = bytes.readUInt8(3) & 0x0f;
  return rcode === rcodes.FORMERR || rcode === rcodes.NOTIMP;
}

/** The answer must be fetched over TCP (RFC 1035, 4.1.1). */
export function isTruncated(bytes: Buffer): boolean {
  return (bytes.readUInt8(2) & 0x02) !== 0;
}

/** The same ID and question, including case. */
export function isAnswer(bytes: Buffer, exchange: QueryExchange): boolean {
  return matches(bytes, exchange, isSame);
}

/** Sufficient for TCP, where answers cannot be injected blindly. */
export function isAnswerInAnyCase(bytes: Buffer, exchange: QueryExchange): boolean {
  return matches(bytes, exchange, isSameInAnyCase);
}

function matches(bytes: Buffer, exchange: QueryExchange, isSameQuestion: typeof isSame): boolean {
  const { id, encoded, questionEnd } = exchange;
  if (bytes.length < HEADER_OCTETS || bytes.readUInt16BE(0) !== id) return false;
  if ((bytes.readUInt8(2) & 0x80) === 0) return false;
  const questions = bytes.readUInt16BE(4);
  // Old servers return only the header.
  if (questions === 0) return isTooOld(bytes);
  if (questions !== 1 || bytes.length < questionEnd) return false;
  // Compared byte by byte on the wire, so that names cannot be confused.
  return isSameQuestion(bytes, encoded, HEADER_OCTETS, questionEnd);
}

/** Unreadable bytes become `malformed`; never throws for them. */
export function readAnswer(bytes: Buffer, via: 'udp' | 'tcp', rttMs: number): WireAnswer {
  try {
    return { kind: 'response', message: decodeMessage(bytes), via, rttMs: tenths(rttMs) };
  } catch (error) {
    if (error instanceof MalformedMessage) return { kind: 'malformed' };
    throw error;
  }
}

export function familyOf({ address }: SocketAddress): 4 | 6 {
  return address.includes(':') ? 6 : 4;
}

/** As the operating system writes a datagram's source, so that both compare as text. */
export function asSource(server: SocketAddress): SocketAddress {
  if (familyOf(server) === 4) return server;
  return { address: ipaddr.parse(server.address).toString(), port: server.port };
}

function tenths(ms: number): number {
  return Math.round(ms * 10) / 10;
}

const CASE_BIT = 0x20;

/** Length octets (at most 63) never are. */
function isLetter(byte: number): boolean {
  const lower = byte | CASE_BIT;
  return lower >= 0x61 && lower <= 0x7a;
}

/** In place; `to` is exclusive. */
export function mixCase(bytes: Uint8Array, from: number, to: number, random16: () => number): void {
  // A leading one marks when new random bits are needed.
  let bits = 1;
  for (let at = from; at < to; at++) {
    const byte = bytes[at] ?? 0;
    if (!isLetter(byte)) continue;
    if (bits === 1) bits = random16() | 0x1_0000;
    bytes[at] = (bits & 1) === 0 ? byte | CASE_BIT : byte & ~CASE_BIT;
    bits >>= 1;
  }
}

/** In place; `to` is exclusive. */
export function lowerCase(bytes: Uint8Array, from: number, to: number): void {
  for (let at = from; at < to; at++) {
    const byte = bytes[at] ?? 0;
    if (isLetter(byte)) bytes[at] = byte | CASE_BIT;
  }
}

function isSameInAnyCase(a: Uint8Array, b: Uint8Array, from: number, to: number): boolean {
  for (let at = from; at < to; at++) {
    const [one = -1, other = -1] = [a[at], b[at]];
    if (one !== other && !(isLetter(one) && (one ^ other) === CASE_BIT)) return false;
  }
  return true;
}

function isSame(a: Uint8Array, b: Uint8Array, from: number, to: number): boolean {
  for (let at = from; at < to; at++) if (a[at] !== b[at]) return false;
  return true;
}

/** Per batch, because single calls are expensive. */
const BATCH = 2048;

/** Unpredictable numbers from 0 to 65535 (RFC 5452, 9.2). */
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
