/** Sign-ins to the dashboard. Stores digests of their tokens, never a token itself. */
import type { Access } from '../core/access.ts';
import { authenticated, liveKey, type StoredKey, visibleKey } from './api-keys.ts';
import type { Prisma, PrismaClient, Session } from './generated/client.ts';
import { beyondPlace, type ListRange, type Page, pageOf } from './page.ts';

export type SessionDetails = Prisma.SessionGetPayload<typeof shown>;

/** An account sees the sessions of its keys. A session ends with its key. */
export type SessionStore = {
  /** By the digest of its token. Both can have ended. */
  find(
    digest: Uint8Array<ArrayBuffer>,
  ): Promise<(Pick<Session, 'id' | 'endsAt'> & { readonly apiKey: StoredKey }) | null>;
  /** Those that have not ended, newest first. */
  list(access: Access, page: ListRange & { readonly now: Date }): Promise<Page<SessionDetails>>;
  get(access: Access, id: string): Promise<SessionDetails | null>;
  /** Also deletes up to ten sessions past their end, of any key. */
  create(session: Session): Promise<void>;
  /** False if there is none. */
  end(access: Access, id: string): Promise<boolean>;
};

/** More than one, so that a backlog shrinks, but few enough to keep sign-ins fast. */
const REMOVED_AT_ONCE = 10;

const shown = {
  omit: { digest: true },
  include: { apiKey: { select: { name: true, expiresAt: true } } },
} as const satisfies Prisma.SessionDefaultArgs;

/** The caller's clock decides what has ended. */
export function createSessionStore(prisma: PrismaClient): SessionStore {
  return {
    find: (digest) =>
      prisma.session.findUnique({
        where: { digest },
        select: { id: true, endsAt: true, apiKey: { select: authenticated } },
      }),
    async list(access, { after, limit, now }) {
      const isLive = { endsAt: { gt: now }, apiKey: { AND: [visibleKey(access), liveKey(now)] } };
      const rows = await prisma.session.findMany({
        ...shown,
        where: { AND: [isLive, beyondPlace('createdAt', after, 'desc')] },
        orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
        take: limit + 1,
      });
      return pageOf(rows, limit, ({ createdAt, id }) => ({ at: createdAt, id }));
    },
    get: (access, id) =>
      prisma.session.findFirst({ ...shown, where: { id, apiKey: visibleKey(access) } }),
    async create(session) {
      const ended = await prisma.session.findMany({
        where: { endsAt: { lte: session.createdAt } },
        select: { id: true },
        orderBy: { endsAt: 'asc' },
        take: REMOVED_AT_ONCE,
      });
      const ids = ended.map(({ id }) => id);
      if (ids.length > 0) await prisma.session.deleteMany({ where: { id: { in: ids } } });
      await prisma.session.create({ data: session });
    },
    async end(access, id) {
      const { count } = await prisma.session.deleteMany({
        where: { id, apiKey: visibleKey(access) },
      });
      return count > 0;
    },
  };
}
