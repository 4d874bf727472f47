import type { ChainReader } from '@opentill/chain/chain-reader';

/**
 * Subscribes only while heads cause rounds: providers bill each notice, and those of SUI contain whole checkpoints.
 */
export function createHeadFollowing(
  { subscribeHeads }: Pick<ChainReader, 'subscribeHeads'>,
  onHead: () => void,
) {
  let ended: Promise<unknown> = Promise.resolve();
  let subscription: AbortController | undefined;
  function unsubscribe(): void {
    subscription?.abort();
    subscription = undefined;
  }
  return {
    follow(isFollowing: boolean): void {
      if (!isFollowing) return unsubscribe();
      if (subscription !== undefined || subscribeHeads === undefined) return undefined;
      const own = new AbortController();
      subscription = own;
      const notify = (): void => (own.signal.aborted ? undefined : onHead());
      ended = Promise.all([ended, subscribeHeads(notify, own.signal)]);
      return undefined;
    },
    async stop(): Promise<void> {
      unsubscribe();
      await ended;
    },
  };
}
