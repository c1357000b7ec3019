/** Figures of several rounds, and the machine they were measured on. */
import { cpus } from 'node:os';

export function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}

/** A percentile: this share of the values is below it. NaN without values. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.floor(share * sorted.length)] ?? Number.NaN;
}

/** A number from the environment. */
export function numberFrom(name: string, otherwise: number): number {
  return Number(process.env[name] ?? otherwise);
}

export function machine(): string {
  return `${cpus().length} cores, ${cpus()[0]?.model}, Node ${process.version}`;
}
