/** What is asked again and again, while anybody wants to know. */

/** Acts after each pause while it is wanted; `wake` says that it may be wanted again. `act` never rejects. */
export function every(pauseMs: number, act: () => Promise<void>, isWanted: () => boolean) {
  let timer: NodeJS.Timeout | null = null;
  let isActing = false;
  let isClosed = false;
  function wake(): void {
    if (timer !== null || isActing || isClosed || !isWanted()) return;
    timer = setTimeout(() => {
      timer = null;
      isActing = true;
      void act().finally(() => {
        isActing = false;
        wake();
      });
    }, pauseMs);
  }
  function rest(): void {
    if (timer !== null) clearTimeout(timer);
    timer = null;
  }
  return {
    wake,
    rest,
    close() {
      isClosed = true;
      rest();
    },
  };
}
