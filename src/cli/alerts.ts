/** `signpost alerts`. Makes no requests. */
import { alertsFile } from '../core/operations/alerts.ts';
import { type CliExit, exitDone, type Io, wrongUsage } from './command.ts';

/** A placeholder, which deploy/prometheus/alerts.yml has. */
const RUNBOOKS = 'https://signpost.example/docs/run/runbooks.md';

/** RUNBOOK_BASE_URL has no query or fragment, because a fragment is added. */
export async function printAlerts({ env, out }: Io): Promise<CliExit> {
  const runbooks = env['RUNBOOK_BASE_URL'] || RUNBOOKS;
  if (!/^https?:\/\/[^?#\s]+$/.test(runbooks) || !URL.canParse(runbooks)) {
    return wrongUsage('RUNBOOK_BASE_URL must be a URL without a query or fragment');
  }
  out(alertsFile(runbooks.replace(/\/$/, '')));
  return exitDone;
}
