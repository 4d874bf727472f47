import type { Actor } from '@opentill/chain/chain-reader';
import type { Address } from '@opentill/chain/address-codec';
import type { CandidateTransfer, Transfer, TransferPosition } from '@opentill/chain/transfer';
import { baseUnits } from '@opentill/domain/money';
import { contractOf, SUI_COIN_TYPE } from './coin-type.ts';
import type { BalanceChange, SuiCheckpoint, SuiTransaction } from './decode-checkpoint.ts';
import type { Proof, Reading } from './reading.ts';

/** More than a transaction can change. Multiplier of `indexInBlock`. */
const CHANGES_PER_TRANSACTION = 2 ** 20;
const ZERO_ADDRESS = `0x${'0'.repeat(64)}` as Address;

/**
 * Ascending: the net amount of each configured coin that each address received in each successful transaction, as coins
 * or in its address balance. `from` is the address that gave most of the coin, not always the sender.
 */
export function transfersOf(
  { proofs }: Pick<Reading, 'proofs'>,
  { header, transactions }: SuiCheckpoint,
  isVerified: boolean,
): readonly CandidateTransfer[] {
  const { hash: blockHash, height: blockHeight } = header;
  const found: CandidateTransfer[] = [];
  for (const transaction of transactions) {
    if (!transaction.succeeded) continue;
    for (const [rank, change] of transaction.changes.entries()) {
      if (change.amount <= 0n || isGivenBack(transaction, change)) continue;
      const candidate: CandidateTransfer = {
        txHash: transaction.txHash,
        blockHash,
        blockHeight,
        indexInBlock: transaction.place * CHANGES_PER_TRANSACTION + rank,
        contract: contractOf(change.coinType),
        from: payerOf(transaction, change),
        to: change.address,
        amountBaseUnits: baseUnits(change.amount),
      };
      // Kept weakly: most candidates are strangers' transfers, whose proofs are never requested.
      proofs.set(candidate, { transaction, change, isVerified });
      found.push(candidate);
    }
  }
  return found;
}

/** The chain pays a storage rebate to the gas payer. The gas costs of the transaction contain it. */
function isGivenBack(
  { gasOwner, gasMist }: SuiTransaction,
  { address, coinType, amount }: BalanceChange,
): boolean {
  return coinType === SUI_COIN_TYPE && address === gasOwner && amount <= -gasMist;
}

/** Senders, sponsors, and owners whose balance decreased without their signature (an allowance). */
export function actorsOf({ header: { height: blockHeight }, transactions }: SuiCheckpoint): readonly Actor[] {
  return transactions.flatMap(({ txHash, sender, gasOwner, changes }) => {
    const wallets = sender === gasOwner ? [sender] : [sender, gasOwner];
    for (const { address, amount } of changes)
      if (amount < 0n && !wallets.includes(address)) wallets.push(address);
    return wallets.map((wallet) => ({ txHash, wallet, blockHeight }));
  });
}

function payerOf({ changes }: SuiTransaction, { coinType }: BalanceChange): Address {
  let most: BalanceChange | undefined;
  for (const change of changes)
    if (change.coinType === coinType && change.amount < (most?.amount ?? 0n)) most = change;
  return most?.address ?? ZERO_ADDRESS;
}

export function provenTransfer(
  chain: Reading['chain'],
  candidate: CandidateTransfer,
  { transaction: { gasMist }, change: { address, coinType } }: Proof,
): Transfer {
  return {
    ...candidate,
    chain,
    position: `${address}:${coinType}` as TransferPosition,
    feeBaseUnits: baseUnits(gasMist > 0n ? gasMist : 0n),
  };
}
