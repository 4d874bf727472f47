import type { GatewayError } from '@opentill/domain/gateway-error';
import { walletError, type WalletErrorCode } from '../wallet-error.ts';

/** Lists the mistakes in the message and one by one in the context. */
export function invalidPolicy(mistakes: readonly string[]): GatewayError<WalletErrorCode> {
  return walletError('POLICY_INVALID', `the policy is invalid: ${mistakes.join('; ')}`, { mistakes });
}
