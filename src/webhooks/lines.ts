/** At most a few attempts at once to whoever shares a key, so that who is slow holds up himself and nobody else. */

/** Call it once, when the attempt is over. */
export type Leave = () => void;

export type Lines = {
  /** Null where all of the `places` are taken. Nobody waits: a worker that did would be missed elsewhere. */
  enter(key: string, places: number): Leave | null;
};

export function createLines(): Lines {
  const inside = new Map<string, number>();
  return {
    enter(key, places) {
      const before = inside.get(key) ?? 0;
      if (before >= places) return null;
      inside.set(key, before + 1);
      return () => {
        const left = (inside.get(key) ?? 1) - 1;
        if (left === 0) inside.delete(key);
        else inside.set(key, left);
      };
    },
  };
}
