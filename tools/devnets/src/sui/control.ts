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

export type SuiControlErrorCode = 'BAD_CONTROL';

/** Actions of tests on chain and node. Each is also `POST /devnet/<name>`. */
export interface SuiControl {
  checkpoint(count?: number): SuiSummary;
  advanceEpoch(): SuiSummary;
  /** 0 creates checkpoints only on request. */
  setCheckpointMs(checkpointMs: number): void;
  /** Delays the next checkpoint and advances the chain's clock by `byMs`. */
  stepTimeMs(byMs: number): void;
  pause(): void;
  resume(): void;
  /** Sends from account 0 in ordinary transactions. Closes a checkpoint if the chain creates them only on request. */
  fund(
    address: string,
    gift: {
      readonly mist?: bigint;
      readonly symbol?: DevTokenSymbol;
      readonly amountBaseUnits?: bigint;
      readonly form?: GiftForm;
    },
  ): Promise<{ readonly digests: readonly string[] }>;
  /** Adds the address to a regulated coin's deny list: it can neither send nor receive the coin. */
  denyAddress(symbol: DevTokenSymbol, address: string, isDenied: boolean): void;
  pauseCoin(symbol: DevTokenSymbol, isPaused: boolean): void;
  /** Allows gasless transfers of a coin from this amount on. Undefined disallows them. */
  setGasless(symbol: DevTokenSymbol, minimumBaseUnits: bigint | undefined): void;
  setReferenceGasPrice(mist: bigint): void;
  /** Pays this payer's gas from a shared object, so that gas changes no balance. Undefined ends it. */
  setRebatedGas(address: string | undefined): void;
  fault(fault: SuiFault): void;
  clearFaults(): void;
  dropConnections(): void;
  /** Removes checkpoints below this one from the node. */
  prune(lowestCheckpoint: number): void;
  openNode(): Promise<SuiNode>;
  summary(): SuiSummary;
}

export interface SuiSummary {
  readonly checkpoint: number;
  readonly digest: string;
  readonly timestampMs: number;
  readonly epoch: number;
  readonly pending: number;
  readonly transactions: number;
}

export interface SuiControlDeps {
  readonly chain: Chain;
  readonly checkpointing: Checkpointing;
  readonly clock: DevnetClock;
  readonly consensusMs: number;
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
    setRebatedGas(address) {
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
  return isValidSuiAddress(text) ? normalizeSuiAddress(text) : bad(`${text} is not an address`);
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
