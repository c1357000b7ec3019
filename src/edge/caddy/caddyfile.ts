/** The configuration of a Caddy that stands before the edge (docs/edge.md). It names no customer, so it never changes with them. */
import { isIP } from 'node:net';
import type { Config } from '../../config/config.ts';
import { type EdgeLimits, edgeLimits } from '../deps.ts';
import { CERTIFICATE_PATH, GATEWAY_USER, gatewayFields } from './gateway.ts';

/** What of the configuration Caddy has to know. */
export type CaddyfileConfig = {
  readonly http: Pick<Config['http'], 'host'>;
  readonly edge: Pick<Config['edge'], 'httpPort' | 'httpsPort' | 'publicHttpsPort'> & {
    readonly caddy: { readonly address: string; readonly port: number };
  };
  readonly api: Pick<Config['api'], 'trustedProxies'>;
};

/** What it keeps as we do where we have the ports; shorter in tests. */
type CaddyLimits = Pick<EdgeLimits, 'headersMs' | 'requestMs' | 'keepAliveMs'>;

/** Stands in the file for the secret, which Caddy reads from its environment. */
const SECRET = '{$EDGE_CADDY_SECRET}';

/** Our choice: on one machine a connection takes less than a millisecond. */
const DIAL_MS = 2_000;
/** Our choice: for so long visitors wait for an edge that is being started again. */
const RESTART_MS = 5_000;
/** As long as the edge lets what is under way finish (src/main.ts). */
const STOP_MS = 20_000;
/** Beyond what we give a deploy for its first byte, so that our page comes first. */
const ANSWER_MS = edgeLimits.firstByteMs + 15_000;

/** Shorter than the edge keeps an idle connection (listeners.ts), so that Caddy never sends a request on one that is closing. */
const KEEP_ALIVE_MS = 10_000;

/** Returns a Caddyfile for Caddy 2.6.2 and newer. It holds no secret. */
export function caddyfile(config: CaddyfileConfig, limits: CaddyLimits = edgeLimits): string {
  return `# Caddy in front of Signpost's edge, made by \`signpost edge caddyfile\`. For Caddy 2.6.2 and newer.
# Its environment needs EDGE_CADDY_SECRET, the same as Signpost's.
${optionsOf(config, limits)}
${site('http', config, '')}
${site('https', config, tlsOf(config) + alternativeOf(config))}`;
}

function optionsOf({ edge }: CaddyfileConfig, limits: CaddyLimits): string {
  return `{
	# Nothing here changes while names come and go, and the configuration holds the secret.
	admin off
	# Caddy obtains no certificates of its own and stores none: it asks for one in each full handshake.
	auto_https disable_redirects
	local_certs
	skip_install_trust
	grace_period ${seconds(STOP_MS)}
	http_port ${edge.httpPort}
	https_port ${edge.httpsPort}
	log {
		# A line for every handshake with a name that nobody holds. What goes wrong on our side Signpost logs.
		exclude tls.handshake
		# Or an error would be written with every field of its request.
		format filter {
			wrap json
			fields {
				request>headers delete
			}
		}
	}
	servers {
		# Go allows 4 KB more.
		max_header_size 12KB
		timeouts {
			read_header ${seconds(limits.headersMs)}
			read_body ${seconds(limits.requestMs)}
			idle ${seconds(limits.keepAliveMs)}
		}
	}
}
`;
}

/** Everything that comes to one port goes to the edge, which knows what is whose. */
function site(scheme: 'http' | 'https', config: CaddyfileConfig, more: string): string {
  return `${scheme}:// {
${bindOf(config)}${more}	reverse_proxy ${gatewayOf(config)} {
		header_up ${gatewayFields.secret} ${SECRET}
		header_up ${gatewayFields.scheme} ${scheme}
		header_up ${gatewayFields.serverName} {http.request.tls.server_name}
		header_up ${gatewayFields.protocol} {http.request.proto}
		# Checked by Caddy, so that no host with a line end in it (HTTP/3, 2.6) gets through.
		header_up X-Forwarded-Host {http.request.host}
${trustedOf(config)}		lb_try_duration ${seconds(RESTART_MS)}
		lb_try_interval 100ms
		transport http {
			compression off
			dial_timeout ${seconds(DIAL_MS)}
			response_header_timeout ${seconds(ANSWER_MS)}
			keepalive ${seconds(KEEP_ALIVE_MS)}
			keepalive_idle_conns_per_host 1000
		}
	}
}
`;
}

function gatewayOf({ edge: { caddy } }: CaddyfileConfig): string {
  return `${isIP(caddy.address) === 6 ? `[${caddy.address}]` : caddy.address}:${caddy.port}`;
}

function tlsOf(config: CaddyfileConfig): string {
  const url = `http://${GATEWAY_USER}:${SECRET}@${gatewayOf(config)}${CERTIFICATE_PATH}`;
  return `	tls {\n		get_certificate http ${url}\n	}\n`;
}

/** Caddy would advertise HTTP/3 at the port that it listens at (RFC 7838). */
function alternativeOf({ edge: { httpsPort, publicHttpsPort = httpsPort } }: CaddyfileConfig) {
  return publicHttpsPort === httpsPort
    ? ''
    : `	header Alt-Svc \`h3=":${publicHttpsPort}"; ma=2592000\`\n`;
}

/** Every address where HOST is none. */
function bindOf({ http: { host } }: CaddyfileConfig): string {
  return ['0.0.0.0', '::'].includes(host) ? '' : `	bind ${host}\n`;
}

function trustedOf({ api: { trustedProxies } }: CaddyfileConfig): string {
  return trustedProxies.length === 0 ? '' : `		trusted_proxies ${trustedProxies.join(' ')}\n`;
}

const seconds = (ms: number): string => `${ms / 1_000}s`;
