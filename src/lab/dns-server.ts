/**
 * A real name server on loopback for tests and the demo: an authority for its zones, and a
 * recursive server over all of them for queries with RD. Built on dns-packet, so it shares no bugs
 * with src/dns/.
 */
import { handlerAt, type Lab, type LabQuestion } from './answers.ts';
import { createFaultBook, type LabFault, type LabRole } from './faults.ts';
import { type DnsListener, listenDns } from './listener.ts';
import { growZones } from './zone-tree.ts';

/** Zone name → lines such as `docs CNAME p1.edge.test.` (src/lab/zone.ts). */
export type LabZones = Readonly<Record<string, readonly string[]>>;

/**
 * Initial options. By default it listens on 127.0.0.1, on one port that is free for both UDP and
 * TCP.
 */
export type LabDnsOptions = {
  readonly zones: LabZones;
  /**
   * Zones that the recursive role has instead of, or in addition to, `zones`: old contents, for
   * example.
   */
  readonly known?: LabZones;
  /** Zones whose answers have the AD flag in the recursive role, if requested. */
  readonly signed?: readonly string[];
  /** Whether to add zones of one label above the declared ones; default true. */
  readonly topLevels?: boolean;
  /** Default 0: a free one. */
  readonly port?: number;
  /** Default 127.0.0.1; another one for a second server at the same port, `::1` for IPv6. */
  readonly address?: string;
  /** False: connections are refused. */
  readonly tcp?: boolean;
};

/** A running test lab. Changes take effect with the next query. */
export type LabDnsServer = {
  /** The first address; zones below zones use the following ones. */
  readonly address: string;
  /** The same for UDP and TCP, and at every address. */
  readonly port: number;
  /**
   * Queries since the start or the last `forget`, oldest first, at least the last 50,000. A live
   * array.
   */
  readonly questions: readonly LabQuestion[];
  /** Empties `questions`. */
  readonly forget: () => void;
  /**
   * Replaces or adds a zone, and opens an address if a zone below another needs one. Throws for an
   * invalid line without changing anything; rejects if the address cannot be opened.
   */
  readonly setZone: (zone: string, lines: readonly string[]) => Promise<void>;
  /**
   * Removes and then adds lines, each exactly as written. Throws for a missing or invalid line
   * without changing anything. Opens no address: a new zone below another needs `setZone`.
   */
  readonly edit: (
    zone: string,
    change: { readonly remove?: readonly string[]; readonly add?: readonly string[] },
  ) => void;
  /**
   * Sets the contents of a zone in the recursive role only. Throws for an invalid line without
   * changing anything.
   */
  readonly know: (zone: string, lines: readonly string[]) => void;
  /**
   * Adds a fault for this name and type (`*`: any type); `.zone` means a zone and everything below
   * it, `.` everything. Default role: both.
   */
  readonly fail: (names: string, type: string, fault: LabFault, role?: LabRole) => void;
  /**
   * Removes the faults of exactly these names, or all. Sends held responses, as determined when
   * their query arrived.
   */
  readonly heal: (names?: string) => void;
  /** Resolves when every socket is closed. Cuts connections; held responses are never sent. */
  readonly close: () => Promise<void>;
};

/**
 * Resolves when every address is open; zones below zones need further loopback addresses (127.0.0.2
 * …). Rejects, with all sockets closed, if one cannot be opened or a line is invalid.
 */
export async function startDnsServer(options: LabDnsOptions): Promise<LabDnsServer> {
  const { address = '127.0.0.1', tcp = true } = options;
  const lab = createLab(options, (depth) => nextAddress(address, depth));
  const listeners = [await listenDns(address, options.port ?? 0, handlerAt(lab, 0), { tcp })];
  const port = listeners[0]?.port ?? 0;
  const openDeeper = async () => {
    for (let depth = listeners.length; depth < lab.tree.depths; depth++) {
      listeners.push(await listenDns(lab.addressAt(depth), port, handlerAt(lab, depth), { tcp }));
    }
  };
  const close = async () => {
    lab.faults.heal(); // otherwise held responses would wait forever
    await closeAll(listeners);
  };
  await openDeeper().catch((error: unknown) => close().then(() => Promise.reject(error)));
  return {
    address,
    port,
    questions: lab.questions,
    forget: () => lab.questions.splice(0),
    setZone: (zone, lines) => {
      regrow(lab, lab.lines, zone, lines);
      return openDeeper();
    },
    edit: (zone, { remove = [], add = [] }) => {
      regrow(lab, lab.lines, zone, [...without(lab.lines.get(zone) ?? [], remove), ...add]);
    },
    know: (zone, lines) => regrow(lab, lab.known, zone, lines),
    fail: (names, type, fault, role) => {
      lab.faults.add(names, type, fault, role);
      lab.prepared.clear();
    },
    heal: (names) => {
      lab.faults.heal(names);
      lab.prepared.clear();
    },
    close,
  };
}

function createLab(options: LabDnsOptions, addressAt: (depth: number) => string): Lab {
  const lines = new Map(Object.entries(options.zones));
  const known = new Map(Object.entries(options.known ?? {}));
  const treeOptions = { addressAt, topLevels: options.topLevels ?? true };
  return {
    lines,
    known,
    faults: createFaultBook(),
    questions: [],
    prepared: new Map(),
    signed: new Set(options.signed),
    addressAt,
    grow: (declared) => growZones(declared, treeOptions),
    tree: growZones(lines, treeOptions),
    knownTree: growZones(new Map([...lines, ...known]), treeOptions),
  };
}

/** Adds a zone to one of the two sets; an error changes nothing. */
function regrow(
  lab: Lab,
  into: Map<string, readonly string[]>,
  zone: string,
  lines: readonly string[],
): void {
  // Builds both trees before changing either set, so that an invalid line changes nothing.
  const own = into === lab.lines ? new Map(lab.lines).set(zone, lines) : lab.lines;
  const known = into === lab.known ? new Map(lab.known).set(zone, lines) : lab.known;
  const [tree, knownTree] = [lab.grow(own), lab.grow(new Map([...own, ...known]))];
  Object.assign(lab, { tree, knownTree });
  into.set(zone, lines);
  lab.prepared.clear();
}

function without(lines: readonly string[], remove: readonly string[]): readonly string[] {
  const left = [...lines];
  for (const line of remove) {
    const at = left.indexOf(line);
    if (at < 0) throw new Error(`no such line to remove: ${line}`);
    left.splice(at, 1);
  }
  return left;
}

async function closeAll(listeners: readonly DnsListener[]): Promise<void> {
  await Promise.all(listeners.map((listener) => listener.close()));
}

/** `::1` has no next address, so zones below zones cannot be served there. */
function nextAddress(address: string, depth: number): string {
  if (depth === 0) return address;
  const [a, b, c, d] = address.split('.');
  return [a, b, c, Number(d) + depth].join('.');
}
