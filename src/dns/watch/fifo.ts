/** First in, first out; each step takes the same time however many wait. */
export type Fifo<T> = {
  readonly push: (item: T) => void;
  /** Undefined where nothing waits. */
  readonly take: () => T | undefined;
};

/** Taken places are kept until they are half of all. */
export function createFifo<T>(): Fifo<T> {
  const items: T[] = [];
  let head = 0;
  return {
    push: (item) => void items.push(item),
    take() {
      if (head === items.length) return undefined;
      const item = items[head++];
      if (head * 2 >= items.length) {
        items.splice(0, head);
        head = 0;
      }
      return item;
    },
  };
}
