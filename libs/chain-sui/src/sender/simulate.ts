import { GrpcTypes } from '@mysten/sui/grpc';
import type { Address } from '@opentill/chain/address-codec';
import type { ReadOptions } from '@opentill/chain/chain-reader';
import { isReaderError } from '@opentill/chain/reader-error';
import { boundedText } from '@opentill/chain-sources/node-text';
import { coinTypeOfNode } from '../coin-type.ts';
import type { SuiSource } from '../sui-sources.ts';

const TRIAL_MASK = {
  paths: ['transaction.effects.status', 'transaction.effects.gas_used', 'transaction.balance_changes'],
};

/** Margin of the budget over the simulated cost: objects grow, and a new coin takes one more step. */
const MARGIN_PERCENT = 50n;

export function withMargin(gasMist: bigint): bigint {
  return (gasMist * (100n + MARGIN_PERCENT) + 99n) / 100n;
}

export interface Trial {
  /** Cost before the storage rebate. */
  readonly gasMist: bigint;
  /** Cost after the storage rebate; may be negative. */
  readonly netGasMist: bigint;
  readonly receivedBy: (address: Address, coinType: string) => bigint;
}

/** Returns the node's reason if the transaction would fail. */
export async function simulate(
  source: SuiSource,
  bytes: Uint8Array,
  options: ReadOptions,
): Promise<Trial | string> {
  const transaction = GrpcTypes.Transaction.create({ bcs: { value: bytes } });
  let answer;
  try {
    answer = await source.ask(
      ({ execution }, call) => execution.simulateTransaction({ transaction, readMask: TRIAL_MASK }, call),
      options,
    );
  } catch (error) {
    if (isReaderError(error, 'RPC_REFUSED')) return boundedText(error.message);
    throw error;
  }
  const { effects, balanceChanges = [] } = answer.response.transaction ?? {};
  if (effects?.status?.success !== true)
    return boundedText(effects?.status?.error?.description ?? 'the simulation failed');
  const { computationCost = 0n, storageCost = 0n, storageRebate = 0n } = effects.gasUsed ?? {};
  return {
    gasMist: computationCost + storageCost,
    netGasMist: computationCost + storageCost - storageRebate,
    receivedBy: (address, coinType) =>
      balanceChanges
        .filter((change) => change.address === address && coinTypeOfNode(change.coinType ?? '') === coinType)
        .reduce((sum, { amount }) => sum + BigInt(amount ?? 0), 0n),
  };
}
