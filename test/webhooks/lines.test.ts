import { describe, expect, it } from 'vitest';
import { createEnterLines } from '../../src/roles/webhooks.ts';
import { createLines, type Leave, type Lines } from '../../src/webhooks/send.ts';

describe('a line', () => {
  it('has its places and sends away who is one too many, at once and until somebody leaves', () => {
    const lines = createLines(200);
    const first = lines.enter('slow', 2);
    expect(lines.enter('slow', 2)).not.toBeNull();
    expect(lines.enter('slow', 2)).toBeNull();
    expect(lines.enter('quick', 2)).not.toBeNull();
    first?.();
    expect(lines.enter('slow', 2)).not.toBeNull();
    expect(lines.enter('slow', 2)).toBeNull();
  });
});

describe('the places of an attempt', () => {
  /** Of an account with as many projects as it likes, each with a receiver of its own. */
  const enter = createEnterLines({ accountOf: async (id) => id.split('-')[0] ?? '' });
  const attempt = (project: string | null) =>
    enter({ webhook: { projectId: project, url: `https://${project}.test/` } });

  it('are never all one account’s, however many projects it has', async () => {
    const entered: (Leave | null)[] = [];
    for (let nth = 0; nth < 300; nth += 1) entered.push(await attempt(`large-${nth}`));
    expect(entered.filter((leave) => leave !== null)).toHaveLength(100);
    for (const project of ['small-1', 'small-2', null]) {
      expect(await attempt(project)).not.toBeNull();
    }
    // Who was sent away at the account's line stands in none of the others.
    for (const leave of entered) leave?.();
    expect(await attempt('large-299')).not.toBeNull();
  });
});

describe('the places that accounts share', () => {
  const fill = (lines: Lines, account: string) => {
    const leaves: Leave[] = [];
    for (;;) {
      const leave = lines.enterShare(account);
      if (leave === null) return leaves;
      leaves.push(leave);
    }
  };

  it('are half one account’s that is alone, and the other half waits for others', () => {
    const lines = createLines(200);
    expect(fill(lines, 'large')).toHaveLength(100);
    expect(lines.enterShare('small')).not.toBeNull();
  });

  it('are left in part by several accounts that want all of them', () => {
    const lines = createLines(200);
    for (let nth = 0; nth < 5; nth += 1) fill(lines, `account ${nth}`);
    expect(lines.enterShare('small')).not.toBeNull();
  });

  it('come back, each once, when an attempt is over', () => {
    const lines = createLines(200);
    const leaves = fill(lines, 'large');
    for (const leave of [...leaves, ...leaves]) leave();
    expect(fill(lines, 'large')).toHaveLength(100);
  });
});
