import { startWorkers } from '../../workers/start.ts';
import type { Closing } from '../service/opened.ts';
import type { Service } from '../service/service.ts';

/** Adds their shutdown to `closings`. */
export async function startWork(service: Service, closings: Closing[]): Promise<void> {
  const workers = startWorkers(service);
  closings.push((deadlineMs) => workers.close(deadlineMs));
}
