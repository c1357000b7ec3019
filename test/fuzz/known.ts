/** Data that exists before the run, so that some requests succeed. */

export type Known = {
  /** Tokens by permission, and a revoked one. */
  readonly keys: Readonly<Record<'admin' | 'reader' | 'writer' | 'domains' | 'revoked', string>>;
  /** Keys that the run may rotate and revoke. */
  readonly keyIds: readonly string[];
  /** One that may publish domains, and one that may not. */
  readonly projectIds: readonly string[];
};

/** Sends a request as the administrator and returns the body; rejects on an error. */
export type Call = (method: string, path: string, body?: object) => Promise<unknown>;

export async function makeKnown(admin: string, call: Call): Promise<Known> {
  const make = async (path: string, body: object) =>
    (await call('POST', path, body)) as { readonly id: string; readonly key: string }; // as in docs/integrate/keys.md
  const makeKey = (...scopes: readonly string[]) => make('/v1/keys', { name: 'fuzz', scopes });
  const revoked = await makeKey('pets:read');
  await call('DELETE', `/v1/keys/${revoked.id}`);
  const prey = [await makeKey('ops:read'), await makeKey('ops:read'), await makeKey('ops:read')];
  const paid = await make('/v1/projects', { name: 'Paid', slug: 'fuzz-paid', plan: 'pro' });
  const free = await make('/v1/projects', { name: 'Free', slug: 'fuzz-free' });
  await make(`/v1/projects/${paid.id}/deploys`, {
    status: 'succeeded',
    upstream: 'http://upstream.test',
  });
  return {
    keys: {
      admin,
      reader: (await makeKey('pets:read')).key,
      writer: (await makeKey('pets:read', 'pets:write')).key,
      domains: (await makeKey('domains:read', 'domains:write')).key,
      revoked: revoked.key,
    },
    keyIds: prey.map(({ id }) => id),
    projectIds: [paid.id, free.id],
  };
}
