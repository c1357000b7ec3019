/** Progress lines for a person who waits: new findings, resolved findings and status. */
import type { Io } from '../command.ts';
import { columnsFor, createPaint, plain, plainSentence, wantsColor, wrapped } from '../layout.ts';
import type { FindingShown } from '../lines.ts';
import { type Mark, marks, severityMarks } from '../lines.ts';
import type { Progress } from '../progress.ts';
import type { CheckShown, DomainShown } from '../shown.ts';
import { markOf } from './render.ts';

/** Each fact is shown once per wait. */
export type Story = {
  /** Call it first, with the domain when the check was requested. */
  asked(domain: DomainShown): void;
  /** True for the first check since `asked`. */
  checked(check: CheckShown): boolean;
  /** Prints what is new. True if waiting is over: the domain is live or failed. */
  stands(domain: DomainShown): boolean;
};

const CLOCK_WIDTH = 10; // a time and two spaces

type World = Pick<Io, 'env' | 'now' | 'screen'>;

export function createStory(progress: Progress, world: World): Story {
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
    asked(domain) {
      asked = domain;
      progress.show(`Checking ${domain.hostname} …`);
    },

    checked({ attempts, lastCheckedAt, nextCheckAt }) {
      const isFirst = notice(lastCheckedAt);
      if (isChecked) progress.show(waiting(attempts, lastCheckedAt, nextCheckAt));
      return isFirst;
    },

    stands(domain) {
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
