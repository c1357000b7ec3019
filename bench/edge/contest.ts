/** What every contender gets. */
import type { Servers } from './servers.ts';

export type Sites = {
  readonly hostnames: readonly string[];
  /** A folder with `<hostname>.crt` and `<hostname>.key`. */
  readonly files: string;
  /** File of the root in PEM. */
  readonly rootFile: string;
  /** URL of the deploy. */
  readonly deploy: string;
  readonly servers: Servers;
};

/** Where a peer writes its configuration, and the port that it serves on. */
export type PeerOptions = { readonly folder: string; readonly port: number };
