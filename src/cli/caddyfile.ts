/** `signpost edge caddyfile`: the configuration of a Caddy in front of the edge. Asks nobody. */
import { loadConfig } from '../config/config.ts';
import { caddyfile } from '../edge/caddy/caddyfile.ts';
import { done, type Io, type Outcome, wrongUsage } from './command.ts';

/** Whatever else the environment holds is not read, be it right or wrong. */
const relevant =
  /^(?:HOST|EDGE_(?:CADDY_ADDRESS|HTTP_PORT|HTTPS_PORT)|PUBLIC_HTTPS_PORT|TRUSTED_PROXIES)$/;
/** Not in the file, so none is needed to make it. */
const standIn = { EDGE: 'caddy', EDGE_CADDY_SECRET: 'x'.repeat(32) };

/** Prints a Caddyfile for the environment's ports, addresses and balancers. */
export async function printCaddyfile(io: Io): Promise<Outcome> {
  const known = Object.entries(io.env).filter(([name]) => relevant.test(name));
  const loaded = loadConfig({ ...Object.fromEntries(known), ...standIn });
  if (!loaded.ok) {
    return wrongUsage(
      loaded.problems.map(({ variable, problem }) => `${variable} ${problem}`).join('; '),
    );
  }
  const { api, edge, http } = loaded.config;
  const { caddy } = edge;
  if (caddy === undefined) throw new Error('EDGE=caddy without an address');
  io.out(caddyfile({ http, api, edge: { ...edge, caddy } }));
  if (io.env['EDGE'] !== 'caddy') {
    io.err('signpost: this is for an edge with EDGE=caddy, which is not set here\n');
  }
  return done;
}
