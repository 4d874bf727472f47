import type { BlockHeader } from '@opentill/chain/block';
import type { ReadOptions } from '@opentill/chain/chain-reader';
import type { ChainState, HeadBlock } from './chain-state.ts';
import { isUnconfirmed, surelyFinal, verifiableHeight, type Depth } from './depth.ts';
import { createFinalityWatch } from './finality-watch.ts';
import { isolateFailure } from './isolate-failure.ts';
import type { ScanNetwork } from './scan-network.ts';
import type { Scanning } from './scanning.ts';
import type { ScanGoal } from './segment-change.ts';

export interface Finality {
  readonly finalizedHeight: number | null;
  readonly isFinalityStale: boolean;
}

/** Newest block, and the finality if it was read with it. */
export interface NamedHead {
  readonly head: BlockHeader;
  readonly final?: BlockHeader | undefined;
}

const UNKNOWN: Finality = { finalizedHeight: null, isFinalityStale: false };
/** Blocks below the head that are tried as the one from which depth is counted: a second source may lag. */
const LAGS = [0, 2, 8, 32];

/** Finality by two sources, and the goal of reading up to a head that was not read yet. */
export function createChainFinality(scanning: Scanning) {
  const { network, reader, observe, clock } = scanning;
  const finality = createFinalityWatch(scanning);
  const asking = isolateFailure(scanning, 'finality');

  async function at(
    state: ChainState,
    head: HeadBlock,
    options: ReadOptions,
    final?: BlockHeader,
  ): Promise<Finality> {
    const known = { finalizedHeight: state.finalizedHeight, headHeight: head.height };
    try {
      const finalizedHeight = await finality.look(known, options, final);
      return { finalizedHeight, isFinalityStale: finality.view().isStale };
    } finally {
      observe.finalitySeen(network.chain, finality.view());
    }
  }

  return {
    at,
    view: finality.view,
    isFailing: asking.isFailing,
    forget: finality.forget,
    /** A finalized block that is young enough also shows that the chain has not stopped. */
    async nameHead(isLook: boolean, options: ReadOptions): Promise<NamedHead> {
      const isTagged = isLook && network.confirmations === 'finalized';
      const final = isTagged ? await asking.run(options, () => reader.finalized(options)) : undefined;
      const oldestSeconds = clock.now().getTime() / 1_000 - network.headStaleSeconds;
      const isYoung = final !== undefined && final.timeSeconds > oldestSeconds;
      return isYoung ? { head: final, final } : { head: await reader.head(options), final };
    },
    /** Verifies no block while finality or depth cannot be proven. */
    async goalAtHead(state: ChainState, { head, final }: NamedHead, options: ReadOptions): Promise<ScanGoal> {
      const known = await asking.run(options, async () => {
        const named = await at(state, head, options, final);
        return { named, proven: await provenAt(scanning, head, named, options) };
      });
      return {
        head,
        seenHeight: head.height,
        verifiedHeight: Math.max(state.verifiedHeight, Math.min(known?.proven.height ?? 0, head.height)),
        ...(known?.named ?? UNKNOWN),
        deepBy: known?.proven.deepBy,
      };
    },
  };
}

/** Undefined unless finality suffices. */
function finalDepth(network: ScanNetwork, named: Finality): Depth | undefined {
  const height = surelyFinal(network, named);
  return height >= 0 && !named.isFinalityStale ? { height, deepBy: undefined } : undefined;
}

/** Highest block that two sources prove to be deep enough, by finality or by a block near the head. */
async function provenAt(
  { network, reader }: Pick<Scanning, 'network' | 'reader'>,
  head: BlockHeader,
  named: Finality,
  options: ReadOptions,
): Promise<Depth> {
  const final = finalDepth(network, named);
  if (final !== undefined) return final;
  for (const lag of LAGS) {
    const height = head.height - lag;
    if (height < 0) break;
    try {
      const [block] = lag === 0 ? [head] : await reader.headers(height, height, options);
      if (block === undefined) break;
      await reader.confirmBlock(block, options);
      return { height: verifiableHeight(network, { linkedHeight: height, ...named }), deepBy: block };
    } catch (error) {
      if (!isUnconfirmed(error)) throw error;
    }
  }
  return { height: surelyFinal(network, named), deepBy: undefined };
}
