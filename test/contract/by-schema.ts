/** Checks every response against the schemas of the document, without external tools. */
import { expectDocumented } from '../support/contract.ts';
import { everyRoute } from '../support/every-route.ts';
import type { Context } from './context.ts';
import { type Case, send, titleOf } from './requests.ts';

const routes = everyRoute();

/** Sends the cases one by one. Returns the problems; empty if all is documented. */
export async function bySchema(
  origin: string,
  cases: readonly Case[],
  context: Context,
): Promise<readonly string[]> {
  const problems: string[] = [];
  for (const one of cases) {
    const { operation, status, code, asking } = one;
    const answer = await send(`${origin}${operation.base}`, operation, asking(context));
    const isExpected =
      answer.status === status && (code === null || answer.text.includes(`"code":"${code}"`));
    if (!isExpected) problems.push(`${titleOf(one)}: was answered ${answer.status} ${answer.text}`);
    const line = `${operation.method} ${operation.base}${operation.path}`;
    const headers = Object.fromEntries(answer.headers);
    try {
      expectDocumented(routes, line, { ...answer, headers });
    } catch (problem) {
      problems.push(`${titleOf(one)}: ${String(problem)}`);
    }
  }
  return problems;
}
