/**
 * The laboratory's responses as bytes: what its zones hold, or what a fault makes of it. Each is prepared once and
 * then repeated for every query that differs in nothing but its id and the case of its name.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ActiveFault, FaultBook, LabFault } from './faults.ts';
import type { Delivery, Handler, Transport } from './listener.ts';
import {
  HEADER_OCTETS,
  type LabQuery,
  questionNameEnd,
  readQuery,
  sameAnswerKey,
} from './query.ts';
import { responseTo } from './responses.ts';
import type { ZoneTree } from './zone-tree.ts';

/** Exported again for callers that list what a laboratory was asked and set its faults. */
export type { LabFault } from './faults.ts';

/** One query as it arrived, the name in lower case; a retry is a query of its own. */
export type LabQuestion = {
  readonly name: string;
  /** As dns-packet names it: `CNAME`, or `UNKNOWN_` and the number for a type that it does not know. */
  readonly type: string;
  /** The RD flag: set, the recursive role answers; clear, the authority does. */
  readonly recursionDesired: boolean;
  readonly transport: Transport;
  /** Which of the laboratory's addresses was asked. */
  readonly address: string;
  /** Whether it came with EDNS, and the DO and CD flags (RFC 4035, 3.2). */
  readonly edns: boolean;
  readonly dnssecOk: boolean;
  readonly checkingDisabled: boolean;
};

/** What the listeners of one laboratory share. */
export type Lab = {
  /** The declared zones: name → lines. A change replaces all lines of a zone. */
  readonly lines: Map<string, readonly string[]>;
  /** Zones of which the recursive role knows something else. */
  readonly known: Map<string, readonly string[]>;
  readonly faults: FaultBook;
  /** Every query that could be read, answered or not, oldest first; half are dropped at 100,000. */
  readonly questions: LabQuestion[];
  /** Answers by everything of a query but its id and the case of its name: making each one again would be slow. */
  readonly prepared: Map<string, Prepared>;
  /** Zones whose answers carry the AD flag in the recursive role. */
  readonly signed: ReadonlySet<string>;
  /** Where the zones of a depth are served; depth 0 is the laboratory's own address. */
  readonly addressAt: (depth: number) => string;
  /** Makes a tree of declared zones. Throws for a line that cannot be read. */
  readonly grow: (declared: ReadonlyMap<string, readonly string[]>) => ZoneTree;
  /** What the authority answers from: `lines`. */
  tree: ZoneTree;
  /** What the recursive role answers from: `lines` with the zones of `known` in place of those of the same names. */
  knownTree: ZoneTree;
};

/** An answer without its id, which `idMask` may make a wrong one. */
type Prepared = {
  readonly asked: LabQuestion;
  readonly answer: Buffer | undefined;
  readonly idMask: number;
  /** Whether the name is written back in the case in which it was asked. */
  readonly keepsCase: boolean;
  readonly way: Delivery['way'];
  /** Begun once for each query; undefined where the answer leaves at once. */
  readonly wait: (() => Promise<unknown>) | undefined;
};

/**
 * Bounds for a laboratory that a benchmark leaves running. At the first, the older half is dropped; at the second,
 * all.
 */
const QUESTIONS_KEPT = 100_000;
const PREPARED_KEPT = 200_000;

/**
 * Returns the handler of the listener at a depth. It works an answer out before it returns, so that what a fault
 * holds back was decided when the query arrived. Records each query it can read; for any other message it returns
 * undefined.
 */
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
  // The prepared answer is shared: the id and the case of the name go into a copy.
  const bytes = Buffer.from(answer);
  bytes.writeUInt16BE((query.readUInt16BE(0) ^ idMask) & 0xffff, 0);
  if (keepsCase) query.copy(bytes, HEADER_OCTETS, HEADER_OCTETS, nameEnd);
  return { bytes, way, after: wait?.() };
}

/** Works an answer out: what the zones say, unless the name has a fault. */
function prepare(
  lab: Lab,
  bytes: Buffer,
  transport: Transport,
  depth: number,
): Prepared | undefined {
  const query = readQuery(bytes);
  if (query === undefined) return undefined;
  const { name, type, recursionDesired } = query;
  const active = lab.faults.find(name, type, recursionDesired ? 'recursive' : 'authority');
  // Whoever desires recursion gets it; there is no access list in a laboratory.
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

function questionOf(query: LabQuery, transport: Transport, address: string): LabQuestion {
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

function wayOf(fault: LabFault | undefined, transport: Transport): Delivery['way'] {
  if (fault === 'no_tcp' && transport === 'tcp') return 'hang_up';
  return fault === 'wrong_source' && transport === 'udp' ? 'wrong_source' : 'straight';
}

function waitFor({ fault, released }: ActiveFault): (() => Promise<unknown>) | undefined {
  if (fault === 'hold') return () => released;
  if (typeof fault === 'string' || fault.kind !== 'delay') return undefined;
  // What still waits keeps no process alive.
  return () => sleep(fault.ms, undefined, { ref: false });
}
