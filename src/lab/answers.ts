/** Responses as bytes, prepared once for queries that differ only in id and letter case. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ActiveFault, FaultBook, LabFault } from './faults.ts';
import type { Delivery, DnsTransport, Handler } from './listener.ts';
import {
  HEADER_LENGTH,
  type LabQuery,
  questionNameEnd,
  readQuery,
  sameAnswerKey,
} from './query.ts';
import { responseTo } from './responses.ts';
import type { ZoneTree } from './zone-tree.ts';

/** The name is in lower case; each retry is a separate query. */
export type LabQuestion = {
  readonly name: string;
  /** As in dns-packet: `CNAME`, or `UNKNOWN_` and the number for an unknown type. */
  readonly type: string;
  /** The RD flag: set, the recursive role answers; clear, the authority does. */
  readonly recursionDesired: boolean;
  readonly transport: DnsTransport;
  /** Which of the test lab's addresses received it. */
  readonly address: string;
  /** Whether it had EDNS, and the DO and CD flags (RFC 4035, 3.2). */
  readonly edns: boolean;
  readonly dnssecOk: boolean;
  readonly checkingDisabled: boolean;
};

export type Lab = {
  /** Declared zones: name → lines. A change replaces all lines of a zone. */
  readonly lines: Map<string, readonly string[]>;
  /** Zones with different contents in the recursive role. */
  readonly known: Map<string, readonly string[]>;
  readonly faults: FaultBook;
  /** Every readable query, answered or not, oldest first. */
  readonly questions: LabQuestion[];
  /** Keyed by the query without its id and letter case, for speed. */
  readonly prepared: Map<string, Prepared>;
  /** Zones whose answers have the AD flag in the recursive role. */
  readonly signed: ReadonlySet<string>;
  /** Depth 0 is the test lab's own address. */
  readonly addressAt: (depth: number) => string;
  readonly grow: (declared: ReadonlyMap<string, readonly string[]>) => ZoneTree;
  /** Of the authority: `lines`. */
  tree: ZoneTree;
  /** Of the recursive role: `lines`, with zones replaced by those of `known`. */
  knownTree: ZoneTree;
};

type Prepared = {
  readonly asked: LabQuestion;
  readonly answer: Buffer | undefined;
  readonly idMask: number;
  /** Whether to repeat the query's letter case. */
  readonly keepsCase: boolean;
  readonly way: Delivery['way'];
  /** Called for each query; undefined if the response is sent at once. */
  readonly wait: (() => Promise<unknown>) | undefined;
};

/** Bounds for a long benchmark. At the first, the older half is dropped; at the second, all. */
const QUESTIONS_KEPT = 100_000;
const PREPARED_KEPT = 200_000;

/** Determined before it returns: a held response reflects the time of its query. */
export function handlerAt(lab: Lab, depth: number): Handler {
  return (query, transport) => {
    const nameEnd = questionNameEnd(query);
    if (nameEnd === undefined) return undefined;
    const key = `${depth}${transport}${sameAnswerKey(query, nameEnd)}`;
    const prepared = lab.prepared.get(key) ?? prepare(lab, query, transport, depth);
    if (prepared === undefined) return undefined;
    if (lab.prepared.size >= PREPARED_KEPT) lab.prepared.clear();
    lab.prepared.set(key, prepared);
    if (lab.questions.length >= QUESTIONS_KEPT) lab.questions.splice(0, QUESTIONS_KEPT / 2);
    lab.questions.push(prepared.asked);
    return deliveryOf(prepared, query, nameEnd);
  };
}

function deliveryOf(prepared: Prepared, query: Buffer, nameEnd: number): Delivery {
  const { answer, idMask, keepsCase, way, wait } = prepared;
  if (answer === undefined) return { bytes: undefined, way, after: wait?.() };
  // The prepared response is shared, so id and letter case go into a copy.
  const bytes = Buffer.from(answer);
  bytes.writeUInt16BE((query.readUInt16BE(0) ^ idMask) & 0xffff, 0);
  if (keepsCase) query.copy(bytes, HEADER_LENGTH, HEADER_LENGTH, nameEnd);
  return { bytes, way, after: wait?.() };
}

function prepare(
  lab: Lab,
  bytes: Buffer,
  transport: DnsTransport,
  depth: number,
): Prepared | undefined {
  const query = readQuery(bytes);
  if (query === undefined) return undefined;
  const { name, type, recursionDesired } = query;
  const active = lab.faults.find(name, type, recursionDesired ? 'recursive' : 'authority');
  // Recursion is available to every client.
  const reply = recursionDesired
    ? lab.knownTree.resolve(name, type)
    : lab.tree.answer(name, type, depth);
  const fault = active?.fault;
  return {
    asked: questionOf(query, transport, lab.addressAt(depth)),
    answer: responseTo({ query, reply, transport, fault, signed: isSigned(lab, name) }),
    idMask: fault === 'wrong_id' ? 1 : 0,
    keepsCase: fault !== 'lower_case' && fault !== 'wrong_question',
    way: wayOf(fault, transport),
    wait: active && waitFor(active),
  };
}

function questionOf(query: LabQuery, transport: DnsTransport, address: string): LabQuestion {
  const { name, type, recursionDesired, edns, checkingDisabled } = query;
  const dnssecOk = edns?.dnssecOk === true;
  return {
    name,
    type,
    recursionDesired,
    transport,
    address,
    edns: edns !== null,
    dnssecOk,
    checkingDisabled,
  };
}

function isSigned({ signed }: Lab, name: string): boolean {
  return [...signed].some((zone) => name === zone || name.endsWith(`.${zone}`));
}

function wayOf(fault: LabFault | undefined, transport: DnsTransport): Delivery['way'] {
  if (fault === 'no_tcp' && transport === 'tcp') return 'hang_up';
  return fault === 'wrong_source' && transport === 'udp' ? 'wrong_source' : 'straight';
}

function waitFor({ fault, released }: ActiveFault): (() => Promise<unknown>) | undefined {
  if (fault === 'hold') return () => released;
  if (typeof fault === 'string' || fault.kind !== 'delay') return undefined;
  // Pending waits don't keep the process alive.
  return () => sleep(fault.ms, undefined, { ref: false });
}
