import type { AcmeFront, AcmeStep, Meddling } from '../../support/acme-front.ts';

/** The first request of `step` after one of `after`. */
export type Point = readonly [when: string, step: AcmeStep, after: AcmeStep];

export const points: readonly Point[] = [
  ['after the order was stored', 'order', 'newOrder'],
  ['before the challenge is published', 'authorization', 'newOrder'],
  ['after the challenge was published', 'challenge', 'newOrder'],
  ['while the authority validates', 'authorization', 'challenge'],
  ['before the order is finalized', 'finalize', 'challenge'],
  ['while the authority issues', 'order', 'finalize'],
  ['before the certificate is downloaded', 'certificate', 'finalize'],
];

/** Interferes once at the point; the result tells whether it has happened. */
export function meddleAt(
  front: AcmeFront,
  [, step, after]: Point,
  { before, after: change }: Meddling,
): () => boolean {
  let done = false;
  const isHere = (one: AcmeStep) =>
    !done && one === step && front.requests.some((earlier) => earlier.step === after);
  front.meddle({
    before: (request) => {
      if (before === undefined || !isHere(request.step)) return undefined;
      done = true;
      return before(request);
    },
    after: (request, said) => {
      if (change === undefined || !isHere(request.step) || said.status >= 400) return undefined;
      done = true;
      return change(request, said);
    },
  });
  return () => done;
}
