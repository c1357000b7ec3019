/** The customers' zone, and adding a record to it. */
import type { ChildProcess } from 'node:child_process';

export const ZONE = 'shop.test';
/** Zone of the targets; every name there has the edge's address. */
export const PLATFORM = 'edge.signpost.test';
/** Zone of the names with certificates (hostnameOf), each with the record of its domain (stored.ts). */
export const SITES = 'bench.test';

/** Resolves when the name server answers with the record, given as a line of a zone file. */
export function publish(nameServer: ChildProcess, line: string): Promise<void> {
  return new Promise((resolve) => {
    const onMessage = (message: unknown) => {
      if (message !== line) return;
      nameServer.off('message', onMessage);
      resolve();
    };
    nameServer.on('message', onMessage);
    nameServer.send(line);
  });
}
