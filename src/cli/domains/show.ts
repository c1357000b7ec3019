/** `signpost domains show`: one domain, from where it stands to what happened lately. */
import { z } from 'zod';
import { type Call, connect } from '../client.ts';
import { done, type Io, type Outcome } from '../command.ts';
import { createPaint, wantsColour } from '../layout.ts';
import { isBlocked, renderDomain } from './render.ts';
import { type DomainShown, shownDomain, shownEvent, understood } from './shown.ts';
import { type About, type Which, whichDomain } from './which.ts';

/** Prints one domain as it is now. The outcome is `done` where it is live and nothing blocks it, else `negative`. */
export async function show(
  { hostname, project, url, json = false }: About,
  io: Io,
): Promise<Outcome> {
  const connection = connect(url, io.env);
  if (!connection.ok) return connection.refusal;
  const found = await whichDomain(connection.call, { hostname, project });
  if (!found.ok) return found.refusal;
  const shown = await showDomain(connection.call, found.which, json, io);
  return shown.ok ? outcomeOf(shown.domain) : shown.refusal;
}

/** The domain that was printed, or why nothing was. */
export type Shown =
  | { readonly ok: true; readonly domain: DomainShown }
  | { readonly ok: false; readonly refusal: Outcome };

/**
 * Reads a domain and prints its page, with the newest events, or with `json` the API's own answer. Nothing is printed
 * where either cannot be read. Never rejects.
 */
export async function showDomain(
  call: Call,
  { path, project }: Which,
  json: boolean,
  { out, env, screen }: Io,
): Promise<Shown> {
  const answer = understood(await call('GET', path), shownDomain);
  if (!answer.ok) return answer;
  const domain = answer.value;
  if (json) {
    out(`${answer.text}\n`);
    return { ok: true, domain };
  }
  const events = understood(await call('GET', `${path}/timeline`), z.array(shownEvent));
  if (!events.ok) return events;
  const paint = createPaint(wantsColour(env, screen.out));
  out(renderDomain({ domain, project, events: events.value }, { columns: screen.columns, paint }));
  return { ok: true, domain };
}

/**
 * `done` for a domain that is live and that nothing blocks, else `negative`: exit code 1 is about the domain, and not
 * about the command.
 */
export function outcomeOf(domain: DomainShown): Outcome {
  return domain.status === 'live' && !isBlocked(domain) ? done : { kind: 'negative' };
}
