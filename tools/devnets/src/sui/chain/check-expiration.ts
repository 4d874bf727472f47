import type { Chain } from './chain.ts';
import { invalidInput, refuse } from './refusal.ts';
import type { TransactionData } from './transaction.ts';

type Expiration = TransactionData['expiration'];
type Window = Extract<Expiration, { $kind: 'ValidDuring' }>['ValidDuring'];

/** A transaction that consumes no object version (`needsWindow`) is protected against replay only by its window. */
export function checkExpiration(
  chain: Chain,
  { expiration }: TransactionData,
  { needsWindow }: { readonly needsWindow: boolean },
): void {
  switch (expiration.$kind) {
    case 'None':
      if (needsWindow) invalidInput('Transaction gas payment missing');
      return;
    case 'Epoch':
      if (needsWindow) {
        invalidInput(
          'Invalid transaction expiration: Address balance gas payments require ValidDuring expiration',
        );
      }
      if (chain.epoch.number > BigInt(expiration.Epoch)) expired();
      return;
    case 'ValidDuring':
      checkWindow(chain, expiration.ValidDuring);
      return;
    case 'Validity': {
      checkWindow(chain, expiration.Validity);
      const { allowedProposers } = expiration.Validity;
      if (allowedProposers !== null && BigInt(allowedProposers.epoch) !== chain.epoch.number) expired();
    }
  }
}

function expired(): never {
  return refuse('INVALID_ARGUMENT', 'Transaction Expired');
}

function checkWindow(chain: Chain, window: Window): void {
  if (window.minTimestamp !== null || window.maxTimestamp !== null) {
    invalidInput('Feature is not supported: Timestamp-based transaction expiration is not yet supported');
  }
  if (window.minEpoch === null || window.maxEpoch === null) {
    return invalidInput('Feature is not supported: Both min_epoch and max_epoch must be specified');
  }
  const min = BigInt(window.minEpoch);
  const max = BigInt(window.maxEpoch);
  if (max !== min && max !== min + 1n) {
    invalidInput('Feature is not supported: max_epoch must be at most min_epoch + 1');
  }
  if (window.chain !== chain.id) {
    invalidInput(`Transaction chain ID ${window.chain} does not match network chain ID ${chain.id}.`);
  }
  if (chain.epoch.number < min || chain.epoch.number > max) expired();
}
