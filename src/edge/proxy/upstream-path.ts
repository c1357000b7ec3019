/** A request's path behind the path of its upstream, which it must not leave: what is beside it may be another project's. */

/**
 * `prefix` is the path of an upstream's URL. Without one the request's path goes on byte for byte; behind one its dot
 * segments are resolved (RFC 3986, 5.2.4). Null where a deploy could still climb out of the prefix.
 */
export function upstreamPath(prefix: string, pathAndQuery: string): string | null {
  const before = prefix.replace(/\/$/, '');
  if (before === '') return pathAndQuery;
  const path = withoutDotSegments(pathAndQuery);
  return climbsWhenDecoded(path) ? null : before + path;
}

/**
 * Whether a deploy that decodes a path before it reads it, or takes a backslash for a slash, would climb by it. Dot segments
 * in plain sight are gone (withoutDotSegments).
 */
function climbsWhenDecoded(pathAndQuery: string): boolean {
  const [path = ''] = pathAndQuery.split('?', 1);
  return /(?:[/\\]|%2f|%5c)(?:\.|%2e){2}(?:$|[/\\]|%2f|%5c)/i.test(path);
}

/** `.` and `..`, each dot perhaps as %2e, which is the same (RFC 3986, 6.2.2.2). */
const DOT_SEGMENT = /^(?:\.|%2e){1,2}$/i;

/** The path with its dot segments resolved, byte for byte the same where it has none. Never climbs above the root. */
function withoutDotSegments(pathAndQuery: string): string {
  const end = pathAndQuery.search(/[?#]/);
  const path = end === -1 ? pathAndQuery : pathAndQuery.slice(0, end);
  const segments = path.split('/').slice(1);
  if (!segments.some((segment) => DOT_SEGMENT.test(segment))) return pathAndQuery;
  const left: string[] = [];
  for (const segment of segments) {
    if (!DOT_SEGMENT.test(segment)) left.push(segment);
    else if (segment.replace(/%2e/gi, '.') === '..') left.pop();
  }
  // `/a/.` and `/a/..` name directories.
  if (DOT_SEGMENT.test(segments.at(-1) ?? '')) left.push('');
  return `/${left.join('/')}${end === -1 ? '' : pathAndQuery.slice(end)}`;
}
