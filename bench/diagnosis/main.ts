/**
 * `npm run compare:diagnosis`: the diagnoses of Signpost and of GitHub's gem `github-pages-health-check` in the
 * zones of test/dns/unusual, as a table in Markdown. Needs the programs of `npm run test:long`, Ruby and
 * the gem; `RUBYLIB` can name a folder with its `lib`. Without the gem, only Signpost's column is printed.
 */
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { TARGET } from '../../test/dns/real/check.ts';
import type { Case } from '../../test/dns/unusual/case.ts';
import { examineCase } from '../../test/dns/unusual/examine.ts';
import { families } from '../../test/dns/unusual/families.ts';
import { startTree, type Tree } from '../../test/dns/unusual/tree.ts';

const DRIVER = 'bench/diagnosis/pages_health_check.rb';
/** As in the platform's zone of test/dns/unusual. */
const ADDRESSES = ['203.0.113.10', '203.0.113.11', '2001:db8:1::10'];

type Result = { readonly name: string; readonly right: boolean; readonly reason: string | null };

const all = Object.values(families).flat();
const tree = await startTree(all.flatMap(({ zones }) => zones));
try {
  const gem = await checkWithGem(tree);
  const rows: string[] = [];
  const misses: string[] = [];
  for (const [family, cases] of Object.entries(families)) {
    const results: CaseResult[] = [];
    for (const one of cases) results.push(await compareCase(tree, one, gem));
    rows.push(rowOf(family, results));
    misses.push(...results.flatMap(({ miss }) => miss.map((text) => `- ${family}: ${text}`)));
  }
  process.stdout.write(
    [
      '| family | zones | Signpost: right or not | Signpost: the cause | the gem: right or not |',
      '|---|---|---|---|---|',
      ...rows,
      '',
      ...(misses.length === 0 ? [] : ['Zones where the gem says otherwise:', '', ...misses, '']),
    ].join('\n'),
  );
} finally {
  await tree.close();
}

/** `gem`: null if it did not run. `miss`: its answer instead. */
type CaseResult = {
  readonly verdict: boolean;
  readonly cause: boolean;
  readonly gem: boolean | null;
  readonly miss: readonly string[];
};

async function compareCase(
  place: Tree,
  one: Case,
  gem: ReadonlyMap<string, Result> | null,
): Promise<CaseResult> {
  const isRight = one.verdict === 'right';
  const { verdict, findings } = (await examineCase(place, one)).diagnosis;
  const own = {
    verdict: (verdict === 'right') === isRight,
    cause: verdict === one.verdict && (findings[0]?.code ?? null) === one.leading,
  };
  // The gem uses no resolver of ours.
  const result = one.resolver === undefined ? gem?.get(one.hostname) : undefined;
  if (result === undefined) return { ...own, gem: null, miss: [] };
  const agrees = result.right === isRight;
  return {
    ...own,
    gem: agrees,
    miss: agrees ? [] : [`${one.title}: ${result.reason ?? 'right'}`],
  };
}

function rowOf(family: string, results: readonly CaseResult[]): string {
  const asked = results.filter(({ gem }) => gem !== null);
  const cells = [
    family,
    results.length,
    results.filter(({ verdict }) => verdict).length,
    results.filter(({ cause }) => cause).length,
    asked.length === 0 ? '–' : `${asked.filter(({ gem }) => gem).length} of ${asked.length}`,
  ];
  return `| ${cells.join(' | ')} |`;
}

/** By host name; null if Ruby or the gem is missing. */
async function checkWithGem({ resolver }: Tree): Promise<ReadonlyMap<string, Result> | null> {
  const names = all.filter((one) => one.resolver === undefined).map(({ hostname }) => hostname);
  const child = spawn('ruby', [DRIVER], { stdio: ['pipe', 'pipe', 'inherit'] });
  const started = await new Promise<boolean>((resolve) => {
    child.once('spawn', () => resolve(true));
    child.once('error', () => resolve(false));
  });
  if (!started) return null;
  child.stdin.on('error', () => {}); // the gem is missing
  child.stdin.end(JSON.stringify({ resolver, target: TARGET, addresses: ADDRESSES, names }));
  const lines = (await text(child.stdout)).split('\n').filter((line) => line !== '');
  if (lines.length === 0) return null;
  // Written by pages_health_check.rb.
  const results = lines.map((line) => JSON.parse(line) as Result);
  return new Map(results.map((result) => [result.name, result]));
}
