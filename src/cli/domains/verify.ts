/** `signpost domains verify`: --wait follows the domain until it is live or failed. */
import { parseDuration } from '../../core/time.ts';
import { type Call, connect, type ServiceConnection } from '../client.ts';
import { type CliExit, exitDone, type Io, wrongUsage } from '../command.ts';
import { readEvents, type SseMessage } from '../event-source.ts';
import { columnsFor, createPaint, plain, plainSentence, wantsColor, wrapped } from '../layout.ts';
import { type FindingShown, type Mark, marks, severityMarks } from '../lines.ts';
import { type Progress, withProgress } from '../progress.ts';
import {
  type CheckShown,
  type DomainShown,
  shownCheck,
  shownDomain,
  understood,
} from '../shown.ts';
import { markOf } from './render.ts';
import { exitOf, showDomain } from './show.ts';
import { type About, type Which, whichDomain } from './which.ts';

/** `timeout`: a duration as typed, only valid with `wait`. */
type VerifyOptions = About & { readonly wait?: boolean; readonly timeout?: string };

/** With `wait`, the outcome is that of `show`. */
export async function verify(
  { hostname: typed, project, url, json = false, wait = false, timeout }: VerifyOptions,
  io: Io,
): Promise<CliExit> {
  const timeoutMs = timeoutIn(timeout);
  if (timeoutMs === null) {
    return wrongUsage(
      `--timeout ${plainSentence(timeout ?? '')}: use a duration such as 10m or 2h`,
    );
  }
  if (timeoutMs !== undefined && !wait) return wrongUsage('--timeout requires --wait');
  const connection = connect(url, io.env);
  if (!connection.ok) return connection.refusal;
  const found = await whichDomain(connection.call, { hostname: typed, project });
  if (!found.ok) return found.refusal;
  const { which } = found;
  if (!wait) return askOnly(connection.call, which, json, io);
  const stop = new AbortController();
  const timer = timeoutMs === undefined ? undefined : setTimeout(() => stop.abort(), timeoutMs);
  const { signal } = stop;
  const waiting = {
    line: `Checking ${which.hostname} …`,
    farewell: 'Stopped waiting. Checks continue in the background.',
  };
  const followed = await withProgress(waiting, io, (progress) =>
    follow(connection, which, { progress, io, signal }),
  );
  clearTimeout(timer);
  return ending(followed, which, io, () => showDomain(connection.call, which, json, io));
}

/** In ms; undefined if not given, null if invalid. */
function timeoutIn(given: string | undefined): number | null | undefined {
  if (given === undefined) return undefined;
  const ms = parseDuration(given);
  return ms !== null && ms > 0 && ms <= TIMEOUT_MS_MAX ? ms : null;
}

/** The longest delay of a Node.js timer; longer ones fire at once. */
const TIMEOUT_MS_MAX = 2_147_483_647;

async function askOnly(
  call: Call,
  { hostname, path }: Which,
  json: boolean,
  io: Io,
): Promise<CliExit> {
  const asked = understood(await call('POST', `${path}/verify`), shownDomain);
  if (!asked.ok) return asked.refusal;
  if (json) io.out(`${asked.text}\n`);
  else {
    io.out(`${hostname} is ${asked.value.status}. A check is in progress.\n`);
    io.err(
      `To see the result: signpost domains show ${hostname}. To follow the check, use --wait.\n`,
    );
  }
  return exitDone;
}

async function ending(
  followed: Followed,
  { hostname }: Which,
  io: Io,
  show: () => ReturnType<typeof showDomain>,
): Promise<CliExit> {
  switch (followed.kind) {
    case 'refused':
      return followed.refusal;
    case 'removed':
      io.err(`signpost: ${hostname} was removed while waiting\n`);
      return { kind: 'negative' };
    case 'settled':
    case 'timed_out': {
      const shown = await show();
      if (!shown.ok) return shown.refusal;
      const outcome = exitOf(shown.domain);
      if (followed.kind === 'timed_out' && outcome.kind === 'negative') {
        io.err('signpost: timed out waiting; checks continue in the background\n');
      }
      return outcome;
    }
  }
}

/** `settled`: the domain is live or failed. `removed`: it was detached. */
type Followed =
  | { readonly kind: 'settled' | 'timed_out' | 'removed' }
  | { readonly kind: 'refused'; readonly refusal: CliExit };

type Connected = Extract<ServiceConnection, { readonly ok: true }>;
type With = { readonly progress: Progress; readonly io: Io; readonly signal: AbortSignal };

/** Opens the stream first, so no event is missed. Reconnects after interruptions. Never rejects. */
export async function follow(
  { call, open }: Connected,
  { hostname, path, projectPath }: Which,
  { progress, io, signal }: With,
): Promise<Followed> {
  const query = `hostname=${encodeURIComponent(hostname)}&checks=tell`;
  const story = createStory(progress, io);
  const step = createStep(call, path, story);
  for await (const message of readEvents(open, `${projectPath}/events?${query}`, signal)) {
    if (message.kind === 'away') progress.show('The service is unreachable. Retrying …');
    const end = await step(message);
    if (end !== null) return end;
  }
  return { kind: 'timed_out' };
}

/** Null until the wait is over. Requests the check once, at the first `opened`. */
function createStep(call: Call, path: string, story: Story) {
  let isAsked = false;
  let isStale = false;

  async function ask(): Promise<Followed | null> {
    const answer = understood(await call('POST', `${path}/verify`), shownDomain);
    if (!answer.ok) return { kind: 'refused', refusal: answer.refusal };
    story.asked(answer.value);
    isAsked = true;
    return null;
  }

  async function readDomain(): Promise<Followed | null> {
    const answer = understood(await call('GET', path), shownDomain);
    isStale = !answer.ok; // then the next message triggers another read
    if (answer.ok) return story.stands(answer.value) ? { kind: 'settled' } : null;
    return answer.code === 'domain_not_found' ? { kind: 'removed' } : null;
  }

  return async (message: SseMessage): Promise<Followed | null> => {
    if (message.kind === 'refused') return message;
    if (message.kind === 'away') return null;
    if (!isAsked) return message.kind === 'opened' ? ask() : null;
    return isRelevant(message, story) || isStale ? readDomain() : null;
  };
}

/** Changes come with their own event. The first check counts even if it changed nothing. */
function isRelevant(message: SseMessage, story: Story): boolean {
  if (message.kind !== 'event') return message.kind === 'opened';
  if (message.type !== 'checked') return true;
  const check = shownCheck.safeParse(message.data);
  return check.success && story.checked(check.data);
}

// Progress lines for a person who waits: new findings, resolved findings and status.

const CLOCK_WIDTH = 10; // a time and two spaces

type World = Pick<Io, 'env' | 'now' | 'screen'>;

function createStory(progress: Progress, world: World) {
  const say = createSay(progress, world);
  let asked: DomainShown | null = null;
  let isChecked = false;
  let shown: readonly FindingShown[] = [];
  let lastSummary = '';

  function notice(lastCheckedAt: string | null): boolean {
    // The domain can have older checks: only a different time is a new check.
    const isFirst =
      !isChecked && lastCheckedAt !== null && lastCheckedAt !== asked?.checks.lastCheckedAt;
    isChecked ||= isFirst;
    return isFirst;
  }

  function showFindings(findings: readonly FindingShown[]): void {
    const gone = shown.filter(({ code }) => !findings.some((one) => one.code === code));
    const fresh = findings.filter((one) => !shown.some((other) => isSame(one, other)));
    for (const { code } of gone) say(marks.right, `${plain(code)} is resolved`);
    for (const { code, severity, summary, action } of fresh) {
      const text = `${plain(code)}: ${plainSentence(summary)}`;
      say(severityMarks[severity], text, plainSentence(action));
    }
    shown = findings;
  }

  return {
    /** Call it first, with the domain when the check was requested. */
    asked(domain: DomainShown): void {
      asked = domain;
      progress.show(`Checking ${domain.hostname} …`);
    },

    /** True for the first check since `asked`. */
    checked({ attempts, lastCheckedAt, nextCheckAt }: CheckShown): boolean {
      const isFirst = notice(lastCheckedAt);
      if (isChecked) progress.show(waiting(attempts, lastCheckedAt, nextCheckAt));
      return isFirst;
    },

    /** Prints what is new. True if waiting is over: the domain is live or failed. */
    stands(domain: DomainShown): boolean {
      const { findings, status, summary, checks } = domain;
      notice(checks.lastCheckedAt);
      // Do not repeat findings from before the check.
      if (!isChecked && status === asked?.status) return false;
      showFindings(findings);
      // The finding just printed already says it.
      const isSaid = findings.some((one) => one.summary === summary.text);
      if (summary.now !== lastSummary && !isSaid) say(markOf(domain), plainSentence(summary.now));
      lastSummary = summary.now;
      return status === 'failed' || status === 'live';
    },
  };
}

/** Each fact is shown once per wait. */
type Story = ReturnType<typeof createStory>;

/** Prints a time, a headline and, below it, what to do. */
function createSay({ say }: Progress, { env, now, screen }: World) {
  const paint = createPaint(wantsColor(env, screen.err));
  const width = columnsFor(screen.columns) - CLOCK_WIDTH - 2;
  const gap = ' '.repeat(CLOCK_WIDTH + 2);
  return ({ sign, style }: Mark, text: string, action = ''): void => {
    const [first = '', ...rest] = wrapped(text, width);
    const todo = action === '' ? [] : wrapped(`→ ${action}`, width);
    const clock = paint('dim', clockOf(now().toISOString()));
    say(
      `${clock}  ${paint(style, sign)} ${first}`,
      ...[...rest, ...todo].map((line) => `${gap}${line}`),
    );
  };
}

/** A finding with new evidence is shown again. */
function isSame(one: FindingShown, other: FindingShown): boolean {
  return one.code === other.code && one.found === other.found;
}

function waiting(
  attempts: bigint,
  lastCheckedAt: string | null,
  nextCheckAt: string | null,
): string {
  const last = lastCheckedAt === null ? '' : ` at ${clockOf(lastCheckedAt)}`;
  const next = nextCheckAt === null ? '' : `, next at ${clockOf(nextCheckAt)}`;
  return `Check ${attempts}${last}${next} UTC; press Ctrl-C to stop waiting`;
}

/** `12:00:16` in UTC, from an RFC 3339 time. */
function clockOf(time: string): string {
  return time.slice(11, 19);
}
