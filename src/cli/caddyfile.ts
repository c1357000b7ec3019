/** `signpost edge caddyfile`. Makes no requests. */
import { loadConfig } from '../config/config.ts';
import { caddyfile } from '../edge/caddy/caddyfile.ts';
import { type CliExit, exitDone, type Io, wrongUsage } from './command.ts';

/** Other variables are ignored, even invalid ones. */
const relevant =
  /^(?:HOST|EDGE_(?:CADDY_ADDRESS|HTTP_PORT|HTTPS_PORT)|PUBLIC_HTTPS_PORT|TRUSTED_PROXIES)$/;
/** Required variables that do not appear in the file. */
const standIn = { EDGE: 'caddy', EDGE_CADDY_SECRET: 'x'.repeat(32) };

export async function printCaddyfile(io: Io): Promise<CliExit> {
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
    io.err('signpost: EDGE is not set to caddy; set EDGE=caddy to use this configuration\n');
  }
  return exitDone;
}
