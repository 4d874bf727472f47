import { GatewayError } from '@opentill/domain/gateway-error';
import { isValidSuiAddress, normalizeSuiAddress } from '@mysten/sui/utils';
import type { DevnetClock } from '../tron/clock.ts';
import type { Chain, CoinInfo } from './chain/chain.ts';
import type { Checkpointing } from './checkpointing.ts';
import { SUI_TYPE } from './coin-type.ts';
import type { DevKeypair } from './dev-accounts.ts';
import { sendGift, type GiftForm } from './fund.ts';
import type { DevTokenSymbol } from './genesis.ts';
import type { SuiFault } from './grpc/faults.ts';
import type { SuiNode } from './open-node.ts';

/** - `BAD_CONTROL`: no such control, or it can't do what was asked. */
export type SuiControlErrorCode = 'BAD_CONTROL';

/** What a test may do to the chain and to the node; each is also `POST /devnet/<name>`. */
export interface SuiControl {
  /** Closes checkpoints at once (default 1). */
  checkpoint(count?: number): SuiSummary;
  /** Closes a checkpoint, and the epoch with it. */
  advanceEpoch(): SuiSummary;
  /** 0: checkpoints come only when told. */
  setCheckpointMs(checkpointMs: number): void;
  /** The next checkpoint comes so much later than it would have, and the chain's clock goes with it. */
  stepTimeMs(byMs: number): void;
  /** No checkpoints by the timer. */
  pause(): void;
  resume(): void;
  /**
   * Sends from account 0, in transactions as anybody would; in a chain whose checkpoints come only when told, one is
   * closed for it.
   */
  fund(
    address: string,
    gift: {
      readonly mist?: bigint;
      readonly symbol?: DevTokenSymbol;
      readonly amountBaseUnits?: bigint;
      /** Default: a coin. */
      readonly form?: GiftForm;
    },
  ): Promise<{ readonly digests: readonly string[] }>;
  /** What the issuer of a regulated coin may do: nobody there can send it, and it can be sent to nobody there. */
  denyAddress(symbol: DevTokenSymbol, address: string, isDenied: boolean): void;
  pauseCoin(symbol: DevTokenSymbol, isPaused: boolean): void;
  /** Lets a coin be moved without gas, in amounts of so much at least; undefined: not any more. */
  setGasless(symbol: DevTokenSymbol, minimumBaseUnits: bigint | undefined): void;
  setReferenceGasPrice(mist: bigint): void;
  /**
   * The transactions that this address pays for take just what they cost out of a shared object: they cost something, and that changes
   * no balance. Undefined: nobody's.
   */
  setGasGivenBack(address: string | undefined): void;
  /** Lets the node do something wrong, until it has happened often enough or is cleared. */
  fault(fault: SuiFault): void;
  clearFaults(): void;
  /** Cuts all connections of the node, subscriptions among them. */
  dropConnections(): void;
  /** The node has only checkpoints from this one on. */
  prune(lowestCheckpoint: number): void;
  /** One more node of the same chain, with faults of its own. */
  openNode(): Promise<SuiNode>;
  summary(): SuiSummary;
}

export interface SuiSummary {
  readonly checkpoint: number;
  readonly digest: string;
  readonly timestampMs: number;
  readonly epoch: number;
  /** Executed, for the next checkpoint. */
  readonly pending: number;
  readonly transactions: number;
}

export interface SuiControlDeps {
  readonly chain: Chain;
  readonly checkpointing: Checkpointing;
  readonly clock: DevnetClock;
  readonly consensusMs: number;
  /** Account 0. */
  readonly giver: DevKeypair;
  readonly tokens: Readonly<Record<DevTokenSymbol, string>>;
  readonly node: Pick<SuiNode, 'fault' | 'clearFaults' | 'dropConnections' | 'prune'>;
  readonly openNode: () => Promise<SuiNode>;
}

export function createControl(deps: SuiControlDeps): SuiControl {
  const { chain, checkpointing, clock, node } = deps;
  const summary = (): SuiSummary => summaryOf(chain);
  return {
    summary,
    checkpoint(count = 1) {
      checkpointing.close(count);
      return summary();
    },
    advanceEpoch() {
      checkpointing.closeEpoch();
      return summary();
    },
    setCheckpointMs: (checkpointMs) => checkpointing.setCheckpointMs(checkpointMs),
    stepTimeMs(byMs) {
      clock.step(byMs);
      checkpointing.stepTimeMs(byMs);
    },
    pause: () => checkpointing.pause(),
    resume: () => checkpointing.resume(),
    fund: async (address, gift) => fund(deps, address, gift),
    denyAddress(symbol, address, isDenied) {
      const { deniedAddresses } = regulatedCoin(deps, symbol);
      if (isDenied) deniedAddresses.add(readAddress(address));
      else deniedAddresses.delete(readAddress(address));
    },
    pauseCoin(symbol, isPaused) {
      regulatedCoin(deps, symbol).paused = isPaused;
    },
    setGasless(symbol, minimumBaseUnits) {
      const { gaslessMinimums } = chain.parameters;
      if (minimumBaseUnits === undefined) gaslessMinimums.delete(deps.tokens[symbol]);
      else gaslessMinimums.set(deps.tokens[symbol], minimumBaseUnits);
    },
    setReferenceGasPrice(mist) {
      chain.parameters.referenceGasPrice = mist;
    },
    setGasGivenBack(address) {
      chain.parameters.gasGivenBackTo = address === undefined ? undefined : readAddress(address);
    },
    fault: (fault) => node.fault(fault),
    clearFaults: () => node.clearFaults(),
    dropConnections: () => node.dropConnections(),
    prune: (lowestCheckpoint) => node.prune(lowestCheckpoint),
    openNode: deps.openNode,
  };
}

function summaryOf({ head, epoch, pending }: Chain): SuiSummary {
  return {
    checkpoint: head.number,
    digest: head.digest,
    timestampMs: head.timestampMs,
    epoch: Number(epoch.number),
    pending: pending.length,
    transactions: head.totalTransactions,
  };
}

function readAddress(text: string): string {
  return isValidSuiAddress(text) ? normalizeSuiAddress(text) : bad(`${text} is no address`);
}

function regulatedCoin({ chain, tokens }: SuiControlDeps, symbol: DevTokenSymbol): CoinInfo {
  const coin = chain.coins.get(tokens[symbol]);
  return coin?.regulated === true ? coin : bad(`${symbol} is not a regulated coin`);
}

async function fund(
  { chain, checkpointing, consensusMs, giver, tokens }: SuiControlDeps,
  address: string,
  gift: Parameters<SuiControl['fund']>[1],
): Promise<{ readonly digests: readonly string[] }> {
  const to = readAddress(address);
  const form = gift.form ?? 'coin';
  const digests: string[] = [];
  for (const [coinType, amount] of [
    [SUI_TYPE, gift.mist ?? 0n],
    [tokens[gift.symbol ?? 'USDC'], gift.amountBaseUnits ?? 0n],
  ] as const) {
    if (amount > 0n) digests.push(await sendGift(chain, giver, { to, coinType, amount, form }, consensusMs));
  }
  if (checkpointing.checkpointMs() === 0) checkpointing.close(1);
  return { digests };
}

export function bad(message: string): never {
  throw new GatewayError<SuiControlErrorCode>('BAD_CONTROL', message, { retryable: false });
}
