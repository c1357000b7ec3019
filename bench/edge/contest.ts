/** What every contender is given. */
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

/** Where a peer is to have its configuration, and the port where it is to serve. */
export type PeerOptions = { readonly folder: string; readonly port: number };
