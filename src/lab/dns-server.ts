/**
 * A name server on loopback for tests and the demo: an authority, and recursive for RD. Built on
 * dns-packet, so it shares no bugs with src/dns/.
 */
import { handlerAt, type Lab, type LabQuestion } from './answers.ts';
import { createFaultBook, type LabFault, type LabRole } from './faults.ts';
import { type DnsListener, listenDns } from './listener.ts';
import { growZones } from './zone-tree.ts';

/** Zone name → lines such as `docs CNAME p1.edge.test.` (src/lab/zone.ts). */
export type LabZones = Readonly<Record<string, readonly string[]>>;

export type LabDnsOptions = {
  readonly zones: LabZones;
  /** What the recursive role has instead of, or beside, `zones`: old contents, for example. */
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

export type LabDnsServer = {
  /** The first address; zones below zones use the following ones. */
  readonly address: string;
  /** The same for UDP and TCP, and at every address. */
  readonly port: number;
  /** A live array, oldest first; keeps at least the last 50,000. */
  readonly questions: readonly LabQuestion[];
  readonly forget: () => void;
  /** May open an address. An invalid line throws, and changes nothing. */
  readonly setZone: (zone: string, lines: readonly string[]) => Promise<void>;
  /** Exact lines. Throws without changing anything. A new zone below another needs `setZone`. */
  readonly edit: (
    zone: string,
    change: { readonly remove?: readonly string[]; readonly add?: readonly string[] },
  ) => void;
  /** In the recursive role only. Throws for an invalid line without changing anything. */
  readonly know: (zone: string, lines: readonly string[]) => void;
  /** `names`: a name, `.zone` for a zone and everything below, or `.`. Type `*`: any. */
  readonly fail: (names: string, type: string, fault: LabFault, role?: LabRole) => void;
  /** Exactly these names, or all. Sends held responses, as determined at their query. */
  readonly heal: (names?: string) => void;
  /** Cuts connections; held responses are never sent. */
  readonly close: () => Promise<void>;
};

/** Zones below zones need 127.0.0.2 …. Rejects, with all sockets closed. */
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

/** An error changes nothing. */
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
