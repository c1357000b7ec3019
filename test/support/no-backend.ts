import type { QueueBackend } from '../../src/queue/backend.ts';

/** For a service whose queues are replaced or unused: opening one fails. */
export const noBackend: QueueBackend = {
  queueOptions: { connection: {} },
  workerOptions: { connection: {} },
  factory: () => {
    throw new Error('this test opens no queue');
  },
  probe: async () => true,
  readMark: async () => null,
  writeMark: async () => {},
  readMemory: async () => null,
  reportError: () => undefined,
  close: async () => undefined,
};
