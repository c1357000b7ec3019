/** Why a port could not be opened, in the words of whoever has to change that. */

const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE: 'is in use',
  EACCES: 'needs a permission that this user does not have',
  EADDRNOTAVAIL: 'cannot be opened: HOST is no address of this machine',
  ENOTFOUND: 'cannot be opened: HOST is no address and no known name',
};

/** The variables that choose a port. */
export type PortVariable = 'PORT' | 'METRICS_PORT' | 'EDGE_HTTP_PORT' | 'EDGE_HTTPS_PORT';

/** Names the variable, the port, the address and the system's error code; what the system said is its cause. */
export function listenFault(
  variable: PortVariable,
  host: string,
  port: number,
  cause: unknown,
): Error {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'no error code';
  const reason = reasons[code] ?? 'cannot be opened';
  return new Error(`${variable} ${port} on ${host} ${reason} (${code})`, { cause });
}
