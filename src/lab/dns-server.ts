/**
 * A real name server on loopback for tests and the demo: authority for its zones, and recursive server over all of
 * them for whoever desires recursion. Built on dns-packet, so that nothing here shares a mistake with src/dns/.
 */
import { handlerAt, type Lab, type LabQuestion } from './answers.ts';
import { createFaultBook, type LabFault, type LabRole } from './faults.ts';
import { type Listener, listen } from './listener.ts';
import { growZones } from './zone-tree.ts';

/** Zone name → lines such as `docs CNAME p1.edge.test.` (src/lab/zone.ts). */
export type LabZones = Readonly<Record<string, readonly string[]>>;

/** What a laboratory starts with. By default it listens on 127.0.0.1, on one port that is free for both UDP and TCP. */
export type LabDnsOptions = {
  readonly zones: LabZones;
  /** What the recursive role knows in place of zones of the same names, or beside them: old contents, for example. */
  readonly known?: LabZones;
  /** Zones whose answers have the AD flag in the recursive role, where it was asked for. */
  readonly signed?: readonly string[];
  /** Whether zones of one label are made up above the declared ones; true where nothing is said. */
  readonly topLevels?: boolean;
  /** 0, the default: one that is free. */
  readonly port?: number;
  /** 127.0.0.1 unless a second server is to hold something else at the same port; `::1` for IPv6. */
  readonly address?: string;
  /** False: connections are refused. */
  readonly tcp?: boolean;
};

/** A running laboratory. Every change takes effect with the next query. */
export type LabDnsServer = {
  /** The first address; zones below zones are at those after it. */
  readonly address: string;
  /** The same for UDP and TCP, and at every address. */
  readonly port: number;
  /**
   * What was asked since the start or the last `forget`, oldest first; the last 50,000 at least. It grows as it is
   * read.
   */
  readonly questions: readonly LabQuestion[];
  /** Empties `questions`. */
  readonly forget: () => void;
  /**
   * Replaces a zone, or adds one, and opens the address that a zone below another needs. Throws for a line that
   * cannot be read, and has then changed nothing; rejects where that address cannot be opened.
   */
  readonly setZone: (zone: string, lines: readonly string[]) => Promise<void>;
  /**
   * Takes lines out and then puts lines in, each as it was written before. Throws for a line that is not there or
   * cannot be read, and has then changed nothing. Opens no address: a new zone below another needs `setZone`.
   */
  readonly edit: (
    zone: string,
    change: { readonly remove?: readonly string[]; readonly add?: readonly string[] },
  ) => void;
  /**
   * What the recursive role knows of a zone from now on, whatever the zone itself holds. Throws for a line that
   * cannot be read, and has then changed nothing.
   */
  readonly know: (zone: string, lines: readonly string[]) => void;
  /**
   * Answers questions about this name and type (`*`: any type) wrongly from now on; `.zone` is a zone and everything
   * below it, `.` everything. Without a role: in both.
   */
  readonly fail: (names: string, type: string, fault: LabFault, role?: LabRole) => void;
  /**
   * Ends the faults of exactly these names, or all. Answers that were held leave now, as they were when they were
   * asked for.
   */
  readonly heal: (names?: string) => void;
  /** Resolves once every socket is closed. Connections are cut, and what is still held is never sent. */
  readonly close: () => Promise<void>;
};

/**
 * Resolves once every address is open; zones below zones need further loopback addresses (127.0.0.2 …). Rejects where
 * one cannot be opened or a line cannot be read, and leaves no socket open then.
 */
export async function startDnsServer(options: LabDnsOptions): Promise<LabDnsServer> {
  const { address = '127.0.0.1', tcp = true } = options;
  const lab = createLab(options, (depth) => nextAddress(address, depth));
  const listeners = [await listen(address, options.port ?? 0, handlerAt(lab, 0), { tcp })];
  const port = listeners[0]?.port ?? 0;
  const openDeeper = async () => {
    for (let depth = listeners.length; depth < lab.tree.depths; depth++) {
      listeners.push(await listen(lab.addressAt(depth), port, handlerAt(lab, depth), { tcp }));
    }
  };
  const close = async () => {
    lab.faults.heal(); // what is held would be held for ever
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

/** Puts a zone into one of the two sets; a slip in it changes nothing. */
function regrow(
  lab: Lab,
  into: Map<string, readonly string[]>,
  zone: string,
  lines: readonly string[],
): void {
  // Both trees are grown before either set is touched, so that a line that cannot be read changes nothing.
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

async function closeAll(listeners: readonly Listener[]): Promise<void> {
  await Promise.all(listeners.map((listener) => listener.close()));
}

/** Of `::1` there is no next one: zones below zones cannot be served there. */
function nextAddress(address: string, depth: number): string {
  if (depth === 0) return address;
  const [a, b, c, d] = address.split('.');
  return [a, b, c, Number(d) + depth].join('.');
}
