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

/** What a budget has on top of what a trial cost: objects grow, and a program takes a step more where a coin is new. */
const MARGIN_PERCENT = 50n;

/** The budget for what a trial cost so much. */
export function withMargin(gasMist: bigint): bigint {
  return (gasMist * (100n + MARGIN_PERCENT) + 99n) / 100n;
}

/** What came of trying a transaction on the newest state of a node. */
export interface Trial {
  /** What has to be paid before anything is given back. */
  readonly gasMist: bigint;
  /** The same less what is given back, which may be more. */
  readonly netGasMist: bigint;
  readonly receivedBy: (address: Address, coinType: string) => bigint;
}

/** What would come of a transaction, or in the node's words why nothing would. */
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
    return boundedText(effects?.status?.error?.description ?? 'it would fail');
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
