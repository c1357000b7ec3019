/**
 * A real name server on loopback for tests and the demo: authority for its zones, and recursive server over all of
 * them for whoever desires recursion. Built on dns-packet, so that nothing here shares a mistake with src/dns/.
 */
import { handlerAt, type Lab, type LabFault, type LabQuestion } from './answers.ts';
import { type Listener, listen } from './listener.ts';
import { growZones } from './zone-tree.ts';

export type LabDnsOptions = {
  /** Zone name → lines such as `docs CNAME p1.edge.test.` (src/lab/zone.ts). */
  readonly zones: Readonly<Record<string, readonly string[]>>;
  /** 0, the default: one that is free. */
  readonly port?: number;
  /** 127.0.0.1 unless a second server is to hold something else at the same port. */
  readonly address?: string;
};

export type LabDnsServer = {
  readonly address: string;
  readonly port: number;
  /** What was asked since the start or the last `forget`, oldest first; the last 100,000. */
  readonly questions: readonly LabQuestion[];
  readonly forget: () => void;
  /** Replaces a zone, or adds one. */
  readonly setZone: (zone: string, lines: readonly string[]) => Promise<void>;
  /** Takes lines out and puts lines in. Throws for a line that is not there. */
  readonly edit: (
    zone: string,
    change: { readonly remove?: readonly string[]; readonly add?: readonly string[] },
  ) => void;
  /** Answers questions about this name and type (`*`: any type) wrongly from now on. */
  readonly fail: (name: string, type: string, fault: LabFault) => void;
  /** Ends the faults of a name, or all. */
  readonly heal: (name?: string) => void;
  readonly close: () => Promise<void>;
};

/** Starts the server; zones below zones need further loopback addresses (127.0.0.2 …). */
export async function startDnsServer(options: LabDnsOptions): Promise<LabDnsServer> {
  const address = options.address ?? '127.0.0.1';
  const addressAt = (depth: number) => nextAddress(address, depth);
  const lines = new Map(Object.entries(options.zones));
  const tree = growZones(lines, addressAt);
  const lab: Lab = {
    lines,
    faults: new Map(),
    questions: [],
    prepared: new Map(),
    addressAt,
    tree,
  };
  const listeners = [await listen(address, options.port ?? 0, handlerAt(lab, 0))];
  const port = listeners[0]?.port ?? 0;
  const openDeeper = async () => {
    for (let depth = listeners.length; depth < lab.tree.depths; depth++) {
      listeners.push(await listen(addressAt(depth), port, handlerAt(lab, depth)));
    }
  };
  await openDeeper().catch((error: unknown) =>
    closeAll(listeners).then(() => Promise.reject(error)),
  );
  return {
    address,
    port,
    questions: lab.questions,
    forget: () => lab.questions.splice(0),
    setZone: (zone, zoneLines) => {
      regrow(lab, zone, zoneLines);
      return openDeeper();
    },
    edit: (zone, { remove = [], add = [] }) => {
      regrow(lab, zone, [...without(lab.lines.get(zone) ?? [], remove), ...add]);
    },
    fail: (name, type, fault) => {
      lab.faults.set(`${name} ${type}`, fault);
      lab.prepared.clear();
    },
    heal: (name) => {
      for (const key of lab.faults.keys()) {
        if (name === undefined || key.startsWith(`${name} `)) lab.faults.delete(key);
      }
      lab.prepared.clear();
    },
    close: () => closeAll(listeners),
  };
}

function regrow(lab: Lab, zone: string, lines: readonly string[]): void {
  const grown = new Map(lab.lines).set(zone, lines);
  lab.tree = growZones(grown, lab.addressAt);
  lab.lines.set(zone, lines);
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

function nextAddress(address: string, depth: number): string {
  const [a, b, c, d] = address.split('.');
  return [a, b, c, Number(d) + depth].join('.');
}
